import Diamond
import DiamondSQLite
import DiamondTestSupport
import Foundation
import HTTPTypes
import Testing

@Suite("A failed exchange", .limit(minutes: 5)) struct TransportFailureTests {
    @Test(arguments: TransportKind.allCases)
    func `a refused connection is an error that says the request was not sent`(kind: TransportKind) async throws {
        try await kind.run { transport, server in
            // A handle that has sent a request before must not say that this one was sent.
            _ = try await transport.get(server.url("wire/status/204"))
            let error = await transport.failure(of: TransportRequest(url: try RawServer.refusedURL()))
            #expect(error?.code == .cannotConnect)
            #expect(error?.serverMayHaveActed == false)
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a connection that ends without a response is an error that says the request may have been sent`(
        kind: TransportKind
    ) async throws {
        let server = try RawServer { connection in _ = connection.readHead() }
        try await kind.run { transport, _ in
            let error = await transport.failure(of: TransportRequest(url: server.base))
            #expect(error?.code == .connectionLost)
            #expect(error?.serverMayHaveActed == true)
        }
    }

    @Test(arguments: TransportKind.allCases, ["ftp://127.0.0.1/", "file:///etc/passwd", "127.0.0.1", ""])
    func `an exchange with a URL of another scheme fails, and says so`(kind: TransportKind, url: String) async throws {
        try await kind.run { transport, _ in
            let error = await transport.failure(of: TransportRequest(url: url))
            #expect(error?.code == .badURL)
            #expect(error?.serverMayHaveActed == false)
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `reveals no secrets`(kind: TransportKind) async throws {
        let answers = ["", "SSH-2.0\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort"]
        let servers = try answers.map { try RawServer(answering: $0) }
        try await kind.run { transport, _ in
            for url in servers.map({ "\($0.base)/" }) + [try RawServer.refusedURL(), "ftp://127.0.0.1/"] {
                let secretive = url.replacing("://", with: "://secret:secret@") + "secret?a=secret"
                let request = TransportRequest(url: secretive, headers: [.authorization: "secret"])
                let error = await transport.failure(of: request)
                #expect(error != nil)
                let text = "\(String(describing: error)) \(String(describing: error?.cause))"
                #expect(text.contains("secret") == false)
            }
        }
    }

    /// A reused connection may be closed just when the next request is sent.
    private func closing(after answer: String, _ count: Guarded<Int>) throws -> RawServer {
        try RawServer { connection in
            guard connection.readHead() != nil else { return }
            count.withLock { $0 += 1 }
            connection.write(answer)
            guard connection.readHead() != nil else { return }
            count.withLock { $0 += 1 }
        }
    }

    private static let empty = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

    @Test(arguments: TransportKind.allCases, [HTTPRequest.Method.get, .put, .delete])
    func `a failed exchange on a reused connection is repeated on another connection if that is safe`(
        kind: TransportKind, method: HTTPRequest.Method
    ) async throws {
        let count = Guarded(0)
        let server = try closing(after: Self.empty, count)
        try await kind.run { transport, _ in
            _ = try await transport.get(server.base)
            let second = TransportRequest(method: method, url: server.base)
            #expect(try await transport.exchange(second).head.status == .ok)
            #expect(count.withLock { $0 } == 3)
        }
    }

    @Test(arguments: TransportKind.allCases, [TransportBody.none, .bytes(Data("a".utf8))])
    func `a failed exchange on a reused connection is not repeated if the server might process it twice`(
        kind: TransportKind, body: TransportBody
    ) async throws {
        let count = Guarded(0)
        let server = try closing(after: Self.empty, count)
        try await kind.run { transport, _ in
            _ = try await transport.get(server.base)
            await kind.withShortcoming(.repeatedRequest) {
                let second = TransportRequest(method: .post, url: server.base, body: body)
                let error = await transport.failure(of: second)
                #expect(error?.code == .connectionLost)
                #expect(error?.serverMayHaveActed == true)
                #expect(count.withLock { $0 } == 2)
            }
        }
    }
}
