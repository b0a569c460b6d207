#if Postgres && canImport(CDiamondPostgres)
import Diamond
import DiamondPostgres
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@Suite("Engines with a queue on PostgreSQL", .limit(minutes: 5)) struct PostgresQueuePlaceTests {
    private let files = TemporaryStore()
    private let clock = TestClock()

    private func configuration(_ address: PostgresAddress) -> Engine.Configuration {
        var configuration = Engine.Configuration(
            store: files.store, queue: .postgres(address), cache: .postgres(address))
        configuration.transport = StubTransport(status: 201)
        return configuration
    }

    private func request(_ path: String) -> Request {
        var request = Request("http://api.test/\(path)", method: .put)
        request.replay = .durable
        return request
    }

    @Test func `the place has no password, and is refused to an engine with a seal`() throws {
        let address = try PostgresAddress("postgresql://queue:private@127.0.0.1:1/app")
        var configuration = configuration(address)
        #expect("\(configuration)".contains(", queue postgresql://queue@127.0.0.1:1/app"))
        configuration.seal = try AESGCMSeal(key: Data(repeating: 1, count: 32))
        let error = #expect(throws: ReplayError.self) { try Engine(configuration).queue() }
        #expect(error?.code == .notSealed && error?.message.contains("postgresql://queue@127.0.0.1:1/app") == true)
        #expect(error?.message.contains("private") == false)
    }

    @Test(.enabled(if: Effort.hasFleet, "needs a server: scripts/fleet starts one"))
    func `an engine creates the tables of its queue and its cache at their first use`() async throws {
        let address = try await PostgresServer.database()
        var configuration = configuration(address)
        configuration.replays = .automatically
        let engine = Engine(configuration)
        #expect(try await engine.send(request("a")).status.code == 201)
        let id = try #require(try await engine.queue().enqueue(request("b")))
        #expect(id > 0)
        try await untilTrue { try engine.queue().counts()[.done] == 2 }
        await engine.close()
    }

    @Test(.enabled(if: Effort.hasFleet, "needs a server: scripts/fleet starts one"))
    func `engines whose server is away at the start keep jobs, and living ones move those of ended ones`()
        async throws
    {
        let relay = try PostgresServer.relay()
        let place = try await PostgresPlace(behind: relay)
        var configuration = configuration(place.address)
        configuration.clock = clock
        relay.follow { _, _ in 0 }
        let living = Engine(configuration)
        do {
            let other = Engine(configuration)
            let error = await #expect(throws: ConnectionError.self) { try await other.send(request("a")) }
            #expect(error?.code == .queued && (error?.jobID ?? 0) < 0)
            await other.close()
        }
        let id = try #require(try await living.queue().enqueue(request("b")))
        #expect(id < 0)
        relay.follow(nil)
        let server = try await place.storage()
        try await untilTrue {
            clock.advance(by: .seconds(1))
            return try server.counts()[.ready] == 2
        }
        #expect(try living.queue().job(id)?.url.hasSuffix("/b") == true)
        #expect(try await server.check() == [])
        await living.close()
    }
}
#endif
