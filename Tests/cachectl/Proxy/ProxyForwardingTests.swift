import DiamondSQLite
import DiamondTestSupport
import Foundation
import Testing

@Suite("cachectl proxy forwards", .limit(minutes: 5)) struct ProxyForwardingTests {
    private static func origin() throws -> ScriptedOrigin {
        try ScriptedOrigin { request in
            ScriptedOrigin.response(
                "200 OK", "Cache-Control: no-store", "Connection: x-hop", "X-Hop: 1", "X-End: 2", body: request.head)
        }
    }

    @Test(
        arguments: [
            "/", "//a//b/", "/a/../b/./c", "/%2F%2e%2E/%zz", "/a?", "/a?b=1&a=2&&c", "/a|b\"<>^`{}\\", "/a?b?c/d",
            "/%E2%82%AC?q=%20+",
        ])
    func `the target byte for byte`(target: String) async throws {
        let origin = try Self.origin()
        let proxy = try await RunningProxy(origin.base)
        #expect(try await proxy.send("GET \(target)").status == 200)
        #expect(origin.requests.map(\.target) == [target])
    }

    @Test func `targets that differ in a byte, and caches a response for each`() async throws {
        let origin = try ScriptedOrigin { request in
            ScriptedOrigin.response("200 OK", "Cache-Control: max-age=60", body: "<\(request.target)>")
        }
        let proxy = try await RunningProxy(origin.base)
        for target in ["/a", "/a?", "/./a", "/%61", "/a?b=1&c=2", "/a?c=2&b=1", "/a?b=1&c=2&", "//a"] {
            for isHit in [false, true] {
                let answer = try await proxy.send("GET \(target)")
                #expect(answer.body == "<\(target)>" && answer.isHit == isHit, "\(target)")
            }
        }
    }

    @Test(
        arguments: [
            "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "PROPFIND", "MKCOL", "REPORT",
            "PURGE", "M-SEARCH", "MSEARCH", "QUERY", "FOO", "x!#$%&'*+-.^_`|~9", "PUT2", "connect",
        ])
    func `requests of any method`(method: String) async throws {
        let origin = try Self.origin()
        let proxy = try await RunningProxy(origin.base)
        #expect(try await proxy.send("\(method) /a").status == 200)
        #expect(origin.requests.map(\.line) == ["\(method) /a HTTP/1.1"])
    }

    @Test func `the fields of a message, without hop-by-hop fields`() async throws {
        let origin = try Self.origin()
        let proxy = try await RunningProxy(origin.base)
        let answer = try await proxy.answer(
            to: """
                GET /a HTTP/1.1\r
                Host: client.example\r
                Connection: close, X-Listed\r
                X-Listed: 1\r
                X-End: 2\r
                Keep-Alive: 3\r
                TE: trailers\r
                Proxy-Connection: 4\r
                Via: 1.0 first\r
                \r\n
                """)
        let request = try #require(origin.requests.first)
        for name in ["X-Listed", "Keep-Alive", "TE", "Proxy-Connection", "Connection", "User-Agent", "Accept"] {
            #expect(request.value(name) == nil, "\(name)")
        }
        #expect(request.value("Host").map { "http://\($0)" } == origin.base)
        #expect(request.value("X-End") == "2")
        let vias = RawAnswer(Array(request.head.utf8)).values("Via")
        #expect(vias.count == 2 && vias[0] == "1.0 first")
        #expect(vias.last?.wholeMatch(of: #/1\.1 diamond-[0-9a-f]{16}/#) != nil)
        #expect(answer.values("X-Hop").isEmpty && answer.values("X-End") == ["2"])
        #expect(answer.values("Via") == [vias[1]] && answer.values("Cache-Status").count == 1)
        #expect(answer.values("Date").count == 1 && answer.values("Connection") == ["close"])
    }

    @Test func `the date of the origin unchanged`() async throws {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        let origin = try ScriptedOrigin { _ in ScriptedOrigin.response("200 OK", "Date: \(date)") }
        let proxy = try await RunningProxy(origin.base)
        #expect(try await proxy.send("GET /a").values("Date") == [date])
    }

    @Test func `bodies of a known length, in chunks, and after 100 Continue`() async throws {
        let origin = try Self.origin()
        let proxy = try await RunningProxy(origin.base)
        #expect(try await proxy.send("PUT /a", body: "hello").status == 200)
        let chunked = "PUT /b HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
        #expect(try await proxy.answer(to: chunked + "2\r\nhe\r\n3\r\nllo\r\n0\r\nX-Trailer: 1\r\n\r\n").status == 200)
        let expecting = "PUT /c HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\n"
        let client = try proxy.client(sending: expecting + "Content-Length: 5\r\n\r\n")
        #expect(await client.read(through: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
        client.write("hello")
        #expect(RawAnswer(await client.read()).status == 200)
        #expect(origin.requests.map { String(decoding: $0.body, as: UTF8.self) } == ["hello", "hello", "hello"])
        #expect(origin.requests.map { $0.value("Content-Length") } == ["5", nil, "5"])
    }

    @Test func `the bytes of a response's fields, even if they are not UTF-8`() async throws {
        let field = Array("X-Name: caf".utf8) + [0xE9, 0x21]
        let origin = try RawServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write(Array("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 0\r\n".utf8))
            connection.write(field + Array("\r\n\r\n".utf8))
        }
        let proxy = try await RunningProxy(origin.base)
        for _ in 1...2 {
            let client = try proxy.client(sending: "GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            #expect(await client.read().firstRange(of: field) != nil)
        }
    }

    @Test func `several requests over one connection, whatever their methods and bodies`() async throws {
        let origin = try Self.origin()
        let proxy = try await RunningProxy(origin.base)
        let head = "HTTP/1.1\r\nHost: x\r\n"
        let requests = [
            "FOO /1 \(head)Transfer-Encoding: chunked\r\n\r\n3;a=b\r\nab\n\r\n0\r\nX-Trailer: 1\r\n\r\n",
            "\r\nBAR /2 \(head)Content-Length: 2\r\n\r\nhi", "BAZ /3 \(head)\r\n",
            "BAZ /4 \(head)Connection: close\r\n\r\n",
        ]
        // At once, and in pieces of one byte.
        for isWhole in [true, false] {
            let client = try proxy.client(sending: isWhole ? requests.joined() : "")
            if !isWhole { for byte in requests.joined().utf8 { client.write([byte]) } }
            let text = String(decoding: await client.read(), as: UTF8.self)
            #expect(text.matches(of: #/HTTP\/1\.1 200/#).count == 4)
        }
        let lines = ["FOO /1 HTTP/1.1", "BAR /2 HTTP/1.1", "BAZ /3 HTTP/1.1", "BAZ /4 HTTP/1.1"]
        #expect(origin.requests.map(\.line) == lines + lines)
        #expect(origin.requests.prefix(2).map { String(decoding: $0.body, as: UTF8.self) } == ["ab\n", "hi"])
    }

    @Test func `the bytes of a request's fields, even if they are not UTF-8`() async throws {
        let field = Array("X-Name: caf".utf8) + [0xE9, 0xC3, 0xA9, 0xFF]
        let heads = Guarded<[[UInt8]]>([])
        let origin = try RawServer { connection in
            guard let head = connection.readHeadBytes() else { return }
            heads.withLock { $0.append(head) }
            connection.write("HTTP/1.1 204 No Content\r\n\r\n")
        }
        let proxy = try await RunningProxy(origin.base)
        let client = try proxy.client(sending: "GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n")
        client.write(field + Array("\r\n\r\n".utf8))
        _ = await client.read()
        let head = try #require(heads.withLock { $0.first })
        #expect(head.firstRange(of: field) != nil)
    }

    @Test func `interim responses once, as they arrive, to clients of HTTP 1.1`() async throws {
        let next = DispatchSemaphore(value: 0)
        let origin = try RawServer { connection in
            while connection.readHead() != nil {
                connection.write("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nConnection: x-hop\r\nX-Hop: 1\r\n\r\n")
                next.wait()
                connection.write("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 199 Other\r\nX-B: 2\r\n\r\n")
                connection.write("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        let proxy = try await RunningProxy(origin.base)
        let client = try proxy.client(sending: "GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        let interim = RawAnswer(Array(await client.read(through: "\r\n\r\n").utf8))
        #expect(interim.status == 103 && interim.values("Link") == ["</a>"] && interim.values("X-Hop").isEmpty)
        next.signal()
        let rest = String(decoding: await client.read(), as: UTF8.self).components(separatedBy: "\r\n\r\n")
        #expect(rest.count == 3 && rest[0].hasPrefix("HTTP/1.1 199") && rest[1].hasPrefix("HTTP/1.1 200 OK"))
        let hit = try await proxy.send("GET /a")
        #expect(hit.isHit && hit.status == 200)
        next.signal()
        #expect(try await proxy.answer(to: "GET /b HTTP/1.0\r\n\r\n").status == 200)
    }

    @Test func `no request that it has forwarded before, and answers 508`() async throws {
        let origin = try Self.origin()
        let proxy = try await RunningProxy(origin.base)
        _ = try await proxy.send("GET /a")
        let via = try #require(origin.requests.first?.value("Via"))
        for field in [
            "Via: \(via)", "Via: 1.0 first, \(via) (comment), 1.1 last", "Via: 1.0 first\r\nVia: HTTP/\(via)",
        ] {
            let answer = try await proxy.send("GET /a", field)
            #expect(answer.status == 508 && answer.values("Content-Type") == ["application/problem+json"], "\(field)")
        }
        #expect(try await proxy.send("GET /a", "Via: \(via)0, 1.1 diamond").status == 200)
        // Two proxies in a row are no loop.
        let other = try await RunningProxy(proxy.base)
        #expect(try await other.send("GET /b").status == 200)
        #expect(origin.requests.count == 3)
    }

    @Test func `a request that cannot be repeated, over a new connection`() async throws {
        let served = Gate()
        let origin = try RawServer { connection in
            // Closes the connection after one response, without saying so.
            guard connection.readHead() != nil else { return }
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            if served.isOpen { _ = connection.readRest() }
            served.open()
        }
        let proxy = try await RunningProxy(origin.base)
        for line in ["GET /a", "POST /b", "POST /c"] { #expect(try await proxy.send(line).status == 200, "\(line)") }
    }

    @Test func `several requests over one connection`() async throws {
        let origin = try Self.origin()
        let proxy = try await RunningProxy(origin.base)
        let client = try proxy.client(
            sending: "GET /1 HTTP/1.1\r\nHost: x\r\n\r\nPOST /2 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi")
        client.write("GET /3 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        let text = String(decoding: await client.read(), as: UTF8.self)
        #expect(text.matches(of: #/HTTP\/1\.1 200/#).count == 3)
        #expect(origin.requests.map(\.target) == ["/1", "/2", "/3"])
    }

    @Test(arguments: [("OPTIONS", 204), ("TRACE", 200)])
    func `OPTIONS and TRACE as far as Max-Forwards allows`(method: String, status: Int) async throws {
        let origin = try Self.origin()
        let proxy = try await RunningProxy(origin.base)
        let own = try await proxy.send("\(method) /a", "Max-Forwards: 0", "Cookie: secret")
        #expect(own.status == status && origin.requests.isEmpty && !own.body.contains("secret"))
        #expect(method == "OPTIONS" || own.body.contains("TRACE /a"))
        _ = try await proxy.send("\(method) /a", "Max-Forwards: 2")
        _ = try await proxy.send("GET /a", "Max-Forwards: 0")
        #expect(origin.requests.map { $0.value("Max-Forwards") } == ["1", "0"])
    }

    @Test func `absolute URLs of its origin, and no others`() async throws {
        let origin = try Self.origin()
        let proxy = try await RunningProxy(origin.base)
        #expect(try await proxy.send("GET \(origin.base)/a?b").status == 200)
        #expect(try await proxy.send("OPTIONS \(origin.base)").status == 200)
        #expect(origin.requests.map(\.target) == ["/a?b", "*"])
        #expect(try await proxy.send("GET http://example.com/a").status == 421)
        #expect(try await proxy.send("CONNECT example.com:443").status == 501)
        #expect(origin.requests.count == 2)
    }

    @Test func `a failure of the origin as 502 or 504 with problem details`() async throws {
        let proxy = try await RunningProxy(String(RawServer.refusedURL().dropLast()))
        let unreachable = try await proxy.send("GET /a")
        #expect(unreachable.status == 502 && unreachable.values("Content-Type") == ["application/problem+json"])
        #expect(unreachable.values("Cache-Status").count == 1)
        let silent = try RawServer {
            _ = $0.readHead(); _ = $0.readRest()
        }
        let slow = try await RunningProxy(silent.base, "--timeout", "1s")
        let late = try await slow.send("GET /a")
        #expect(late.status == 504 && late.body.contains(#""title":"Gateway Timeout""#))
    }
}
