#if Curl && os(Linux)
import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A misdirected request", .limit(minutes: 5)) struct MisdirectedRequestTests {
    /// A server that answers 421 on its first connection, which stays open, and 200 on every other.
    private static func server() throws -> RawServer {
        let count = Guarded(0)
        return try RawServer { connection in
            let number = count.withLock { count in
                count += 1
                return count
            }
            let status = number == 1 ? "421 Misdirected Request" : "200 OK"
            while connection.readHead() != nil {
                connection.write("HTTP/1.1 \(status)\r\nContent-Length: 1\r\n\r\n\(number)")
            }
        }
    }

    @Test(arguments: [HTTPRequest.Method.get, .post]) func `is sent again on another connection`(
        method: HTTPRequest.Method
    ) async throws {
        let server = try Self.server()
        var configuration = Engine.Configuration(store: nil)
        configuration.transport = CurlTransport()
        // However long a busy machine needs.
        configuration.retry.window = nil
        let engine = Engine(configuration)
        let response = try await engine.send(Request(server.base, method: method))
        #expect(response.status == .ok && response.text == "2")
        #expect(response.attempts.map(\.reason?.code) == [.misdirected, nil])
        await engine.close()
    }

    @Test func `opens a new connection, and leaves the idle ones to others`() async throws {
        let server = try Self.server()
        let transport = CurlTransport()
        var request = TransportRequest(url: server.base)
        var bodies: [String] = []
        for needsNewConnection in [false, true, false, true] {
            request.needsNewConnection = needsNewConnection
            let body = try await transport.send(request).body.collect()
            bodies.append(String(decoding: body, as: UTF8.self))
        }
        // The first two stay open, and the third request uses one of them.
        #expect(bodies[0] == "1" && bodies[1] == "2" && ["1", "2"].contains(bodies[2]) && bodies[3] == "3")
        await transport.close()
    }
}
#endif
