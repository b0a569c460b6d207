#if Curl && os(Linux)
import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import HTTPTypes
import Testing

@testable import Diamond

@Suite("An invalid response on a reused connection", .limit(minutes: 5)) struct ReusedConnectionTests {
    /// A server that answers the first request of each connection, and the next with bytes that are no HTTP.
    private let server: RawServer
    private let heads = Guarded(0)

    init() throws {
        server = try RawServer { [heads] connection in
            guard connection.readHead() != nil else { return }
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody")
            guard connection.readHead() != nil else { return }
            heads.withLock { $0 += 1 }
            connection.write("left over\r\n\r\n")
        }
    }

    private func engine() -> Engine {
        var configuration = Engine.Configuration(store: nil)
        configuration.transport = CurlTransport()
        return Engine(configuration)
    }

    @Test func `is a lost connection, and the request is repeated`()
        async throws
    {
        let engine = engine()
        #expect(try await engine.send(Request(server.base)).attempts.isEmpty)
        let second = try await engine.send(Request(server.base))
        #expect(second.text == "body" && second.attempts.map(\.reason?.code) == [.connectionClosed, nil])
        #expect(heads.withLock { $0 } == 1)
        await engine.close()
    }

    @Test func `is an error where a second request could act twice`()
        async throws
    {
        let engine = engine()
        _ = try await engine.send(Request(server.base))
        let error = await #expect(throws: ConnectionError.self) {
            try await engine.send(Request(server.base, method: .post))
        }
        #expect(error?.code == .connectionLost && error?.attempts.last?.reason?.code == .notIdempotent)
        await engine.close()
    }
}
#endif
