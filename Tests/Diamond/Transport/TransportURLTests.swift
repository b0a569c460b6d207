import Diamond
import DiamondSQLite
import DiamondTestSupport
import Testing

@Suite("The URL on the wire") struct TransportURLTests {
    /// Returns the target in the first line of a request over a transport.
    private func target(of url: String, over kind: TransportKind) async throws -> String? {
        let line = Guarded("")
        let server = try RawServer { connection in
            guard let head = connection.readHead() else { return }
            line.withLock { $0 = head }
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        }
        let transport = kind.make()
        var configuration = Engine.Configuration(store: nil)
        configuration.transport = transport
        let engine = Engine(configuration)
        _ = try await engine.send(Request(server.base + url))
        await engine.close()
        await transport.close()
        return line.withLock { $0 }.split(separator: " ").dropFirst().first.map(String.init)
    }

    @Test(arguments: TransportKind.allCases, ["/%7ea%2f;x=1?%2f%7E=+&&b;c&d=%20=?", "/a//b?", "/a%20b%c3%A9"])
    func `has the escapes that were written`(kind: TransportKind, target: String) async throws {
        #expect(try await self.target(of: target, over: kind) == target)
    }

    /// Foundation escapes brackets, and then the whole component again: two transports escape brackets first.
    @Test(arguments: TransportKind.allCases) func `has at most its brackets escaped additionally`(
        kind: TransportKind
    )
        async throws
    {
        let target = try await target(of: "/[a]%20b?a[]=%2f&b=1", over: kind)
        #expect(["/[a]%20b?a[]=%2f&b=1", "/%5Ba%5D%20b?a%5B%5D=%2f&b=1"].contains(target), "\(target ?? "")")
    }
}
