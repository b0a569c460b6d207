import Diamond
import DiamondSQLite
import DiamondTestSupport
import Foundation
import HTTPTypes
import Testing

@Suite("A request on the wire", .limit(minutes: 5)) struct TransportMethodTests {
    private static let methods: [HTTPRequest.Method] = [.get, .post, .put, .patch, .delete, .options, .trace, .query]

    /// The server receives the fields that were set, and the one for codings that the transport decodes.
    private static func expect(_ fields: [String], in echo: Echo, kind: TransportKind) {
        kind.withShortcoming(.fieldsOfItsOwn) {
            #expect(echo.fields.filter { !$0.hasPrefix("Accept-Encoding: ") } == fields.sorted())
        }
    }

    @Test(arguments: TransportKind.allCases, methods)
    func
        `a request without a body is sent with no added field, except a Content-Length of 0 for methods that expect a body`(
            kind: TransportKind, method: HTTPRequest.Method
        )
        async throws
    {
        try await kind.run { transport, server in
            let request = TransportRequest(method: method, url: server.url("wire/echo?a=%20b"))
            let echo = try Echo(try await transport.exchange(request).body)
            #expect(echo.method == method.rawValue)
            #expect(echo.target == "/wire/echo?a=%20b")
            let isBodyExpected = [.post, .put, .patch, .query].contains(method)
            kind.withShortcoming(.lengthOfNothing, if: method == .options) {
                Self.expect(isBodyExpected ? ["Content-Length: 0"] : [], in: echo, kind: kind)
            }
        }
    }

    @Test(arguments: TransportKind.allCases, methods)
    func `a request with a body is sent with its length only`(kind: TransportKind, method: HTTPRequest.Method)
        async throws
    {
        try await kind.run { transport, server in
            let body = TransportBody.bytes(Data("body".utf8))
            let request = TransportRequest(method: method, url: server.url("wire/echo"), body: body)
            let shortcoming = method == .trace ? Shortcoming.bodyWithTrace : .bodyWithGet
            try await kind.withShortcoming(shortcoming, if: [.get, .trace].contains(method)) {
                let echo = try Echo(try await transport.exchange(request).body)
                #expect(echo.method == method.rawValue)
                #expect(String(decoding: echo.body, as: UTF8.self) == "body")
                Self.expect(["Content-Length: 4"], in: echo, kind: kind)
            }
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a request is sent with its fields, empty and repeated ones included`(kind: TransportKind) async throws {
        try await kind.run { transport, server in
            var request = TransportRequest(method: .post, url: server.url("wire/echo"))
            request.headers = [
                .accept: "a/b", .userAgent: "me", .contentType: "c/d", .xEmpty: "", .xName: "Zürich",
                .xRepeat: "one", .xRepeat: "two",
            ]
            let echo = try Echo(try await transport.exchange(request).body)
            let expected = [
                "Accept: a/b", "User-Agent: me", "Content-Type: c/d", "X-Empty: ", "X-Name: Zürich", "X-Repeat: one",
                "X-Repeat: two", "Content-Length: 0",
            ]
            Self.expect(expected, in: echo, kind: kind)
        }
    }

    /// Cookies that are set together, which separates them, and one by one.
    private static let cookies: [HTTPFields] = {
        var (set, added) = (HTTPFields(), HTTPFields())
        set[.cookie] = "a=1; b=2; c=3"
        for (name, value) in [(.cookie, "a=1"), (.xName, "x"), (.cookie, "b=2; c=3")] as [(HTTPField.Name, String)] {
            added.append(HTTPField(name: name, value: value))
        }
        return [set, added]
    }()

    @Test(arguments: TransportKind.allCases, cookies)
    func `a request is sent with all its cookies in one field`(kind: TransportKind, headers: HTTPFields) async throws {
        let fields = Guarded<[String]>([])
        let server = try RawServer { connection in
            guard let head = connection.readHead() else { return }
            let lines = head.split(separator: "\r\n").filter { $0.lowercased().hasPrefix("cookie:") }
            fields.withLock { $0 += lines.map(String.init) }
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
        try await kind.run { transport, _ in
            _ = try await transport.exchange(TransportRequest(url: server.base, headers: headers))
            #expect(fields.withLock { $0 } == ["Cookie: a=1; b=2; c=3"])
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a request for a range asks for no coding`(kind: TransportKind) async throws {
        try await kind.run { transport, server in
            let request = TransportRequest(url: server.url("wire/echo"), headers: [.range: "bytes=0-1"])
            let echo = try Echo(try await transport.exchange(request).body)
            let codings = echo.fields.filter { $0.hasPrefix("Accept-Encoding: ") }
            #expect(codings.allSatisfy { $0 == "Accept-Encoding: identity" })
            Self.expect(["Range: bytes=0-1"], in: echo, kind: kind)
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a request is sent with the length of its body, whatever its Content-Length and Transfer-Encoding fields say`(
        kind: TransportKind
    ) async throws {
        try await kind.run { transport, server in
            var request = TransportRequest(method: .post, url: server.url("wire/echo"), body: .bytes(Data("abc".utf8)))
            request.headers = [.contentLength: "7", .transferEncoding: "chunked"]
            let echo = try Echo(try await transport.exchange(request).body)
            Self.expect(["Content-Length: 3"], in: echo, kind: kind)
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a request reaches the server every time: a transport has no cache`(kind: TransportKind) async throws {
        try await kind.run { transport, server in
            let url = server.url("wire/count/\(UUID().uuidString)?_maxAge=3600")
            let first = try await transport.get(url).body
            let second = try await transport.get(url).body
            #expect(String(decoding: first, as: UTF8.self) == #"{"count":1}"#)
            #expect(String(decoding: second, as: UTF8.self) == #"{"count":2}"#)
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a request has no cookies of an earlier response`(kind: TransportKind) async throws {
        let hasCookies = Guarded<[Bool]>([])
        let server = try RawServer { connection in
            while let head = connection.readHead() {
                hasCookies.withLock { $0.append(head.lowercased().contains("cookie:")) }
                connection.write("HTTP/1.1 200 OK\r\nSet-Cookie: a=1; Path=/\r\nContent-Length: 0\r\n\r\n")
            }
        }
        try await kind.run { transport, _ in
            for _ in 0..<2 { _ = try await transport.get(server.base) }
            #expect(hasCookies.withLock { $0 } == [false, false])
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `two hundred requests run at the same time`(kind: TransportKind) async throws {
        try await kind.run { transport, server in
            let bodies = try await withThrowingTaskGroup(of: Bool.self) { group in
                for index in 0..<200 {
                    let url = server.url("wire/bytes/\(index * 100)")
                    group.addTask { try await transport.get(url).body == Pattern.bytes(count: index * 100) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(bodies == [Bool](repeating: true, count: 200))
        }
    }
}
