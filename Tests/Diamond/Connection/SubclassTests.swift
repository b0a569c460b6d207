import Diamond
import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

/// A subclass as an app writes it, with public declarations only.
class CityConnection: Connection, @unchecked Sendable {
    struct City: Decodable, Hashable, Sendable { let name: String }
    struct Refused: Error {}

    private let lock = NSLock()
    private var made: City?
    private var calls: [String] = []

    var city: City? { lock.withLock { made } }
    var asked: [String] { lock.withLock { calls } }

    override func prepare(_ request: inout Request) async throws {
        lock.withLock { calls.append("prepare") }
        if request.tags.contains("broken") { throw Refused() }
        await Task.yield()
        request.headers[.authorization] = "Bearer 1"
    }

    override func validate(_ response: Response) throws {
        lock.withLock { calls.append("validate \(response.source)") }
        guard response.status == .ok else { throw Refused() }
    }

    override func decode(_ response: Response) throws {
        let city = try response.decode(City.self)
        lock.withLock {
            calls.append("decode")
            made = city
        }
    }
}

final class OtherConnection: CityConnection, @unchecked Sendable {
    override func copied() -> OtherConnection { copySettings(to: OtherConnection(request)) }
}

/// A subclass with an initializer of its own only.
private final class NamedConnection: Connection, @unchecked Sendable {
    let city: String

    init(city: String) {
        self.city = city
        super.init(Request("http://h/\(segment: city)"))
    }
}

@Suite("A subclass of a connection", .limit(minutes: 10)) struct SubclassTests {
    private let temporary = TemporaryStore()
    private let clock = ManualClock()

    private func engine(_ transport: StubTransport) -> Engine {
        temporary.engine(transport, clock: clock)
    }

    private func transport(
        _ status: Int = 200,
        _ headers: HTTPFields = [.cacheControl: "max-age=3600"],
        body: String = #"{"name":"Berlin"}"#
    ) -> StubTransport {
        StubTransport(status: status, headers: headers, body: body)
    }

    private func run<Kind: CityConnection>(
        _ connection: Kind,
        by engine: Engine
    ) async -> Result<Response, ConnectionError> {
        engine.start(connection)
        do throws(ConnectionError) { return .success(try await connection.response) } catch {
            return .failure(error)
        }
    }

    @Test func `prepares the request, validates the response before it is stored, and decodes it`()
        async throws
    {
        let transport = transport()
        let engine = engine(transport)
        let first = CityConnection(Request("http://h/"))
        _ = try await run(first, by: engine).get()
        #expect(
            first.asked == ["prepare", "validate network", "decode"] && first.city?.name == "Berlin")
        #expect(transport.requests[0].headers[.authorization] == "Bearer 1")
        #expect(first.request.headers[.authorization] == nil)
        let second = CityConnection(Request("http://h/"))
        _ = try await run(second, by: engine).get()
        #expect(second.asked == ["prepare", "validate cache", "decode"] && second.city == first.city)
        #expect(transport.requests.count == 1)
    }

    @Test func `a subclass that cannot prepare fails with the cause, and sends nothing`() async throws {
        let transport = transport()
        var request = Request("http://h/")
        request.tags = ["broken"]
        let connection = CityConnection(request)
        let result = await run(connection, by: engine(transport))
        let error = #expect(throws: ConnectionError.self) { try result.get() }
        #expect(error?.code == .preparationFailed && error?.cause is CityConnection.Refused)
        #expect(transport.requests.isEmpty && connection.asked == ["prepare"])
    }

    @Test func `a subclass that refuses a response keeps it out of the cache, and in the error`() async throws {
        let transport = transport(404)
        let engine = engine(transport)
        let result = await run(CityConnection(Request("http://h/")), by: engine)
        let error = #expect(throws: ConnectionError.self) { try result.get() }
        #expect(error?.code == .invalidResponse && error?.cause is CityConnection.Refused)
        #expect(
            error?.response?.status == .notFound && error?.response?.text.contains("Berlin") == true)
        // A plain connection accepts it, and it is stored; the subclass still refuses it from the cache.
        let request = Request("http://h/", headers: [.authorization: "Bearer 1"])
        #expect(try await engine.send(request).source == .network)
        #expect(try await engine.send(request).source == .cache)
        let stored = CityConnection(Request("http://h/"))
        let refused = await run(stored, by: engine)
        #expect(throws: ConnectionError.self) { try refused.get() }
        #expect(stored.asked == ["prepare", "validate cache"])
    }

    @Test
    func `a subclass under networkElseCache receives the stored response where it refuses the server's`()
        async throws
    {
        let statuses = Guarded([200, 500])
        let transport = StubTransport { _ throws(TransportError) in
            .stub(
                status: statuses.withLock { $0.removeFirst() }, headers: [.cacheControl: "max-age=3600"],
                body: #"{"name":"Berlin"}"#)
        }
        let engine = engine(transport)
        var request = Request("http://h/", cache: .networkElseCache)
        request.retry = .never
        _ = try await run(CityConnection(request), by: engine).get()
        #expect(try await run(CityConnection(request), by: engine).get().source == .cache)
    }

    @Test func `stores no response that it cannot decode, and leaves the stored one`() async throws {
        let body = Guarded(#"{"name":7}"#)
        let transport = StubTransport { _ throws(TransportError) in
            .stub(headers: [.cacheControl: "max-age=3600"], body: body.withLock { $0 })
        }
        let engine = engine(transport)
        func refuse(_ policy: CachePolicy) async {
            let result = await run(CityConnection(Request("http://h/", cache: policy)), by: engine)
            let error = #expect(throws: ConnectionError.self) { try result.get() }
            #expect(error?.code == .undecodable && error?.message.contains("is no CityConnection: name: ") == true)
            #expect(error?.response?.text == #"{"name":7}"#)
        }
        await refuse(.automatic)
        body.withLock { $0 = #"{"name":"Berlin"}"# }
        #expect(try await run(CityConnection(Request("http://h/")), by: engine).get().source == .network)
        body.withLock { $0 = #"{"name":7}"# }
        await refuse(.reload)
        let last = CityConnection(Request("http://h/"))
        #expect(try await run(last, by: engine).get().source == .cache)
        #expect(last.city?.name == "Berlin" && transport.requests.count == 3)
    }

    @Test func `does not validate a redirect that is followed`() async throws {
        let transport = StubTransport { request throws(TransportError) in
            request.url.hasSuffix("/old")
                ? .stub(status: 301, headers: [.location: "/new"], body: "")
                : .stub(body: #"{"name":"Berlin"}"#)
        }
        let connection = CityConnection(Request("http://h/old"))
        _ = try await run(connection, by: engine(transport)).get()
        #expect(connection.asked == ["prepare", "validate network", "decode"])
    }

    /// Runs connections that share one exchange, which the first of them opens.
    ///
    /// - Parameter whenJoined: called when all have joined the exchange, before the response.
    private func share(
        _ connections: [Connection],
        body: String,
        whenJoined: () async -> Void = {}
    ) async throws -> (StubTransport, Engine) {
        let checkpoint = Checkpoint()
        let transport = StubTransport { _ throws(TransportError) in
            await checkpoint.pass()
            return .stub(headers: [.cacheControl: "max-age=3600"], body: body)
        }
        let engine = engine(transport)
        // Each caller that joins is a miss of the cache.
        let callers = JoinedCallers()
        callers.watch(engine)
        engine.start(connections[0])
        await checkpoint.reached()
        for connection in connections.dropFirst() { engine.start(connection) }
        await callers.reach(connections.count)
        await whenJoined()
        checkpoint.open()
        return (transport, engine)
    }

    @Test func `shares an exchange with other classes, and each validates the response once`() async throws {
        let own = (0..<3).map { _ in CityConnection(Request("http://h/")) }
        let plain = Request("http://h/", headers: [.authorization: "Bearer 1"])
        let others = [OtherConnection(Request("http://h/")), Connection(plain)]
        let (transport, _) = try await share(own + others, body: #"{"name":"Berlin"}"#)
        for connection in own + others { _ = try await connection.response }
        #expect(own.allSatisfy { $0.asked == ["prepare", "validate network", "decode"] })
        #expect(transport.requests.count == 1)
    }

    @Test(arguments: [true, false])
    func `decides about its shared response, and about storing it if it was first`(
        isFirst: Bool
    ) async throws {
        let strict = CityConnection(Request("http://h/"))
        let plain = Connection(Request("http://h/", headers: [.authorization: "Bearer 1"]))
        let (_, engine) = try await share(isFirst ? [strict, plain] : [plain, strict], body: "{}")
        #expect(try await plain.response.text == "{}")
        await #expect(throws: ConnectionError.self) { try await strict.response }
        #expect(try await engine.send(plain.request).source == (isFirst ? .network : .cache))
    }

    @Test(arguments: [false, true])
    func `a canceled subclass does not decode a shared response, but still decides whether it is stored`(
        isPaused: Bool
    ) async throws {
        let first = CityConnection(Request("http://h/"))
        let plain = Connection(Request("http://h/", headers: [.authorization: "Bearer 1"]))
        let (_, engine) = try await share([first, plain], body: #"{"name":"Berlin"}"#) {
            guard !isPaused else { return first.pause() }
            first.cancel()
            await untilTrue { first.isFinished }
        }
        _ = try await plain.response
        #expect(first.asked == ["prepare", "validate network"] && first.city == nil)
        #expect(try await engine.send(plain.request).source == .cache)
    }

    @Test func `decodes a stale response once, and not its revalidation`() async throws {
        let transport = transport(200, [.cacheControl: "max-age=3600"])
        let engine = engine(transport)
        _ = try await run(CityConnection(Request("http://h/")), by: engine).get()
        clock.advance(by: 4000)
        let connection = CityConnection(Request("http://h/", cache: .staleWhileRevalidate))
        #expect(try await run(connection, by: engine).get().source == .stale)
        await engine.waitForRefreshes()
        #expect(transport.requests.count == 2)
        // The refresh runs at the same time as the answer is delivered.
        await untilTrue { connection.asked.count == 4 }
        #expect(connection.asked.filter { $0 != "validate network" } == ["prepare", "validate stale", "decode"])
        #expect(connection.asked.count { $0 == "validate network" } == 1)
    }

    @Test func `is copied as its own class`() async throws {
        let connection = OtherConnection(Request("http://h/"))
        let engine = engine(transport())
        _ = try await run(connection, by: engine).get()
        let again = try #require(connection.retry() as? OtherConnection)
        _ = try await again.response
        #expect(again.city?.name == "Berlin")
    }

    @Test func `a subclass without the initializer for copies can run, and its copies fail`() async throws {
        let transport = transport()
        let connection = NamedConnection(city: "São Paulo")
        let engine = engine(transport)
        engine.start(connection)
        _ = try await connection.response
        let error = await #expect(throws: ConnectionError.self) { try await connection.retry().response }
        #expect(error?.code == .noCopy && error?.message.contains("NamedConnection") == true)
        #expect(transport.requests.map(\.url) == ["http://h/S%C3%A3o%20Paulo"])
    }

    @Test func `may wait in prepare for a connection of the same engine, at any width`()
        async throws
    {
        final class SignedConnection: Connection, @unchecked Sendable {
            nonisolated(unsafe) var engine: Engine?

            override func prepare(_ request: inout Request) async throws {
                request.headers[.authorization] = try await engine?.start(Request("http://h/token"))
                    .response.text
            }
        }
        let transport = transport(body: "token")
        var configuration = Engine.Configuration(store: nil)
        configuration.transport = transport
        configuration.width = 1
        let engine = Engine(configuration)
        let connections = (0..<30).map { SignedConnection(Request("http://h/\($0)")) }
        for connection in connections {
            connection.engine = engine
            engine.start(connection)
        }
        for connection in connections { _ = try await connection.response }
        #expect(transport.requests.filter { $0.headers[.authorization] == "token" }.count == 30)
    }

    @Test func `a subclass restored from a finished snapshot has decoded its response`() async throws {
        let engine = engine(transport())
        let connection = engine.start(Request("http://h/"))
        _ = try await connection.response
        await untilTrue { connection.isFinished }
        let kept = CityConnection(try ConnectionSnapshot(json: connection.snapshot.json()))
        #expect(kept.city?.name == "Berlin" && kept.state == .finished(.success))
        #expect(kept.asked == ["validate network", "decode"])
    }

    @Test(arguments: [(200, "[]", ConnectionError.Code.undecodable), (500, "{}", .invalidResponse)])
    func `a subclass restored with a response that it refuses has failed`(
        status: Int, body: String, code: ConnectionError.Code
    ) async throws {
        let connection = engine(transport(status, body: body)).start(Request("http://h/"))
        _ = try await connection.response
        await untilTrue { connection.isFinished }
        let kept = CityConnection(connection.snapshot)
        let error = await #expect(throws: ConnectionError.self) { try await kept.response }
        #expect(error?.code == code && error?.response?.status.code == status && kept.city == nil)
        #expect(kept.state == .finished(.failure))
    }
}
