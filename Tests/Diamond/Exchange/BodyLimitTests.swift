import Diamond
import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@Suite("The limit of a response body", .limit(minutes: 5)) struct BodyLimitTests {
    private let temporary = TemporaryStore()

    private func error(_ limit: Int?, engine bound: Int = 10, _ transport: any Transport, _ url: String) async
        -> ConnectionError?
    {
        var configuration = Engine.Configuration(store: nil)
        configuration.transport = transport
        configuration.bodyLimit = bound
        var request = Request(url)
        request.bodyLimit = limit
        do {
            _ = try await Engine(configuration).send(request)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [(nil, true), (11, false), (12, false), (9, true)])
    func `the limit of a body is the request's, or else the engine's`(limit: Int?, isTooLarge: Bool) async {
        let error = await error(limit, StubTransport(body: "12345678901"), "http://h/")
        #expect(error?.code == (isTooLarge ? .bodyTooLarge : nil))
        #expect(error?.message.contains("larger than \(limit ?? 10) bytes") ?? true)
    }

    @Test(arguments: TransportKind.allCases)
    func `a Content-Length above the limit fails a request before its body arrives`(kind: TransportKind) async throws {
        // The rest of the body never arrives, and the connection stays open.
        let gate = DispatchSemaphore(value: 0)
        defer { gate.signal() }
        let server = try RawServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n1")
            gate.wait()
        }
        try await kind.run { transport, _ in
            #expect(await error(999, transport, server.base)?.code == .bodyTooLarge)
        }
    }

    @Test(arguments: [(HTTPRequest.Method.head, 200), (.get, 304), (.get, 204)])
    func `the limit of a body ignores the Content-Length of a response without a body`(
        method: HTTPRequest.Method,
        status: Int
    ) async throws {
        let transport = StubTransport { _ throws(TransportError) in
            .stub(status: status, headers: [.contentLength: "1000"])
        }
        var configuration = Engine.Configuration(store: nil)
        configuration.transport = transport
        configuration.bodyLimit = 10
        let request = Request("http://h/", method: method)
        #expect(try await Engine(configuration).send(request).headers[.contentLength] == "1000")
    }

    @Test func `requests with different limits of a body share no exchange`() async throws {
        let checkpoint = Checkpoint()
        let transport = StubTransport { _ throws(TransportError) in
            await checkpoint.pass()
            return .stub(body: "12345678901")
        }
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.transport = transport
        let engine = Engine(configuration)
        var small = Request("http://h/")
        small.bodyLimit = 5
        let (first, second) = (engine.start(small), engine.start(Request("http://h/")))
        await checkpoint.reached()
        await untilTrue { transport.requests.count == 2 }
        checkpoint.open()
        await #expect(throws: ConnectionError.self) { try await first.response }
        #expect(try await second.response.body.count == 11)
    }
}
