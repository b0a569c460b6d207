import Diamond
import DiamondTestSupport
import Foundation
import HTTPTypes
import Testing

@Suite("The head of a response", .limit(minutes: 5)) struct TransportHeadTests {
    @Test(arguments: TransportKind.allCases, [200, 201, 204, 304, 400, 401, 404, 418, 500, 503, 599])
    func `a response head has any status`(kind: TransportKind, code: Int) async throws {
        try await kind.run { transport, server in
            let (head, body) = try await transport.get(server.url("wire/status/\(code)"))
            #expect(head.status.code == code)
            #expect(head.version == "HTTP/1.1")
            #expect(body.isEmpty)
        }
    }

    @Test(arguments: TransportKind.allCases, [Duration.seconds(Int64.max), .milliseconds(Int64.max)])
    func `a response head arrives also with the longest possible timeouts`(kind: TransportKind, timeout: Duration)
        async throws
    {
        try await kind.run { transport, server in
            let url = server.url("wire/status/200")
            let request = TransportRequest(url: url, connectTimeout: timeout, timeout: timeout)
            let head = try await transport.send(request)
            #expect(head.status == .ok)
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a response head has repeated fields one by one`(kind: TransportKind) async throws {
        let cookies = ["a=1; Path=/; Expires=Thu, 01 Jan 2099 00:00:00 GMT", "b=2; Path=/wire"]
        let fields = cookies.map { "Set-Cookie: \($0)\r\n" }.joined() + "Vary: Accept\r\nVary: Origin\r\n"
        let server = try RawServer(answering: "HTTP/1.1 200 OK\r\n\(fields)Content-Length: 0\r\n\r\n")
        try await kind.run { transport, _ in
            let head = try await transport.get(server.base).head
            #expect(head.headers[values: .setCookie] == cookies)
            kind.withShortcoming(.repeatedFields) {
                #expect(head.headers[values: .vary] == ["Accept", "Origin"])
            }
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a response head has its fields in the order sent, names as sent`(kind: TransportKind) async throws {
        let fields = "b-One: 1\r\nA-TWO: 2\r\nb-Three: 3\r\nContent-Length: 0"
        let server = try RawServer(answering: "HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n")
        try await kind.run { transport, _ in
            let head = try await transport.get(server.base).head
            kind.withShortcoming(.fieldOrder) {
                #expect(head.headers.map(\.name.rawName) == ["b-One", "A-TWO", "b-Three", "Content-Length"])
            }
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a response head has values in UTF-8`(kind: TransportKind) async throws {
        let server = try RawServer(answering: "HTTP/1.1 200 OK\r\nX-Name: Zürich\r\nContent-Length: 0\r\n\r\n")
        try await kind.run { transport, _ in
            let head = try await transport.get(server.base).head
            #expect(head.headers[.xName] == "Zürich")
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a response head has values in Latin-1`(kind: TransportKind) async throws {
        try await kind.run { transport, server in
            try await kind.withShortcoming(.latinFields) {
                let head = try await transport.get(server.url("wire/headers")).head
                #expect(head.headers[.xLatin] == "Zürich")
                #expect(head.headers[.xName] == "Zürich")
                #expect(head.headers[values: .xRepeat] == ["one", "two"])
            }
        }
    }

    @Test(arguments: TransportKind.allCases, [301, 302, 303, 307, 308])
    func `a redirect is delivered as the response head, and is not followed`(kind: TransportKind, code: Int)
        async throws
    {
        try await kind.run { transport, server in
            let head = try await transport.get(server.url("wire/redirect/\(code)?to=/wire/echo")).head
            #expect(head.status.code == code)
            #expect(head.headers[.location] == "/wire/echo")
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a response head is that of the final response after interim ones`(kind: TransportKind) async throws {
        let server = try RawServer(
            answering:
                "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nX-Name: a\r\nContent-Length: 2\r\n\r\nhi"
        )
        try await kind.run { transport, _ in
            let (head, body) = try await transport.get(server.base)
            #expect(head.status == .ok)
            #expect(head.headers[.xName] == "a")
            #expect(head.headers[.link] == nil)
            #expect(String(decoding: body, as: UTF8.self) == "hi")
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a response head with status 101, which switches to another protocol, is an error`(kind: TransportKind)
        async throws
    {
        let server = try RawServer(answering: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nbytes")
        try await kind.run { transport, _ in
            let error = await transport.failure(of: TransportRequest(url: server.base))
            #expect(error?.code == .badResponse)
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a response head joins folded lines, and never reads a folded line as a field of its own`(kind: TransportKind)
        async throws
    {
        let server = try RawServer(
            answering: "HTTP/1.1 200 OK\r\nX-Name: a\r\n\t X-Latin: b\r\nContent-Length: 0\r\n\r\n")
        try await kind.run { transport, _ in
            try await kind.withShortcoming(.foldedLines) {
                let head = try await transport.get(server.base).head
                #expect(head.headers[.xName] == "a X-Latin: b")
                #expect(head.headers[.xLatin] == nil)
            }
        }
    }

    @Test(
        arguments: TransportKind.allCases,
        [
            String(repeating: "X-Name: \(String(repeating: "a", count: 1000))\r\n", count: 3000),
            String(repeating: "X: y\r\n", count: 20_000),
            "X-Name: \(String(repeating: "a", count: 500_000))\r\n",
        ])
    func `a response head that is larger than any legitimate one is an error that says so`(
        kind: TransportKind, fields: String
    ) async throws {
        let server = try RawServer(answering: "HTTP/1.1 200 OK\r\n\(fields)Content-Length: 0\r\n\r\n")
        try await kind.run { transport, _ in
            let error = await transport.failure(of: TransportRequest(url: server.base))
            kind.withShortcoming(.unseenSize) {
                #expect(error?.code == .badResponse && error?.serverMayHaveActed == true)
                #expect(
                    error?.message.contains("the server sent") == true && error?.message.contains("have it") == true)
            }
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a response head that is not HTTP is an error`(kind: TransportKind) async throws {
        let server = try RawServer(answering: "SSH-2.0-OpenSSH_9.2\r\n\r\n")
        try await kind.run { transport, _ in
            let error = await transport.failure(of: TransportRequest(url: server.base))
            #expect(error?.code == .badResponse)
            #expect(error?.serverMayHaveActed == true)
        }
    }
}
