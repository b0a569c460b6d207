import DiamondSQLite
import DiamondTestSupport
import Foundation
import Testing

@Suite("The cache of cachectl proxy", .limit(minutes: 5)) struct ProxyCachingTests {
    private static let fresh = "Cache-Control: max-age=600"

    @Test func `a fresh response answers later requests, also of HEAD, and a POST invalidates it`() async throws {
        let origin = try ScriptedOrigin { request in
            ScriptedOrigin.response("200 OK", Self.fresh, "ETag: \"a\"", body: "answer \(request.number)")
        }
        let proxy = try await RunningProxy(origin.base)
        let first = try await proxy.send("GET /a")
        #expect(first.status == 200 && first.body == "answer 1" && !first.isHit)
        let second = try await proxy.send("GET /a")
        #expect(second.body == "answer 1" && second.isHit, "\(second.head)")
        let head = try await proxy.send("HEAD /a")
        #expect(head.body.isEmpty && head.isHit && head.values("Content-Length") == ["8"], "\(head.head)")
        #expect(try await proxy.send("POST /a", body: "x").body == "answer 2")
        let third = try await proxy.send("GET /a")
        #expect(!third.isHit && origin.requests.last?.value("If-None-Match") == "\"a\"", "\(third.head)")
    }

    @Test func `a stale response is revalidated by the origin`() async throws {
        let origin = try ScriptedOrigin { request in
            request.value("If-None-Match") == nil
                ? ScriptedOrigin.response("200 OK", "Cache-Control: max-age=0", "ETag: \"a\"", body: "whole")
                : "HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=600\r\nETag: \"a\"\r\n\r\n"
        }
        let proxy = try await RunningProxy(origin.base)
        for _ in 1...3 {
            let answer = try await proxy.send("GET /a")
            #expect(answer.status == 200 && answer.body == "whole")
        }
        #expect(origin.requests.count == 2)
    }

    @Test(arguments: ["404 Not Found", "301 Moved Permanently", "410 Gone"])
    func `a response with an error or a redirect is stored, too`(status: String) async throws {
        let origin = try ScriptedOrigin { _ in
            ScriptedOrigin.response(status, Self.fresh, "Location: /b", body: "reason")
        }
        let proxy = try await RunningProxy(origin.base)
        let answers = [try await proxy.send("GET /a"), try await proxy.send("GET /a")]
        #expect(answers.map(\.body) == ["reason", "reason"] && answers.map(\.isHit) == [false, true])
        #expect(answers[1].values("Location") == ["/b"])
    }

    @Test func `a coded body is forwarded and stored unchanged, with its coding and length`() async throws {
        let origin = try ScriptedOrigin { _ in
            ScriptedOrigin.response("200 OK", Self.fresh, "Content-Encoding: gzip", body: "no gzip at all")
        }
        let proxy = try await RunningProxy(origin.base)
        for isHit in [false, true] {
            let answer = try await proxy.send("GET /a")
            #expect(answer.body == "no gzip at all" && answer.isHit == isHit)
            #expect(answer.values("Content-Encoding") == ["gzip"] && answer.values("Content-Length") == ["14"])
        }
        #expect(origin.requests.map { $0.value("Accept-Encoding") } == [nil])
    }

    @Test(arguments: [false, true])
    func `Set-Cookie is stored, except with --without-set-cookie`(isDropped: Bool) async throws {
        let origin = try ScriptedOrigin { _ in
            ScriptedOrigin.response("200 OK", Self.fresh, "Set-Cookie: a=1", "Set-Cookie: b=2", body: "x")
        }
        let proxy =
            isDropped
            ? try await RunningProxy(origin.base, "--without-set-cookie") : try await RunningProxy(origin.base)
        #expect(try await proxy.send("GET /a").values("Set-Cookie") == ["a=1", "b=2"])
        let hit = try await proxy.send("GET /a")
        #expect(hit.isHit && hit.values("Set-Cookie") == (isDropped ? [] : ["a=1", "b=2"]))
    }

    @Test func `a proxy with --offline serves stored responses, and answers 504 to other requests`() async throws {
        let shell = Shell()
        let origin = try ScriptedOrigin { _ in
            ScriptedOrigin.response("200 OK", "Cache-Control: max-age=0", "ETag: \"a\"", body: "stored")
        }
        let online = try await RunningProxy(origin.base, shell: shell)
        _ = try await online.send("GET /a")
        online.signal(SIGTERM)
        #expect(await online.ended().ending == .exited(0))
        let offline = try await RunningProxy(origin.base, "--offline", shell: shell)
        #expect(try await offline.send("GET /a").body == "stored")
        for line in ["GET /b", "POST /a"] {
            let answer = try await offline.send(line)
            #expect(answer.status == 504 && answer.values("Content-Type") == ["application/problem+json"], "\(line)")
            #expect(answer.body.contains(#""status":504"#))
        }
        #expect(origin.requests.count == 1)
    }

    @Test(
        arguments: [
            ("max-age=0", [], 200), ("no-cache", [], 504), ("max-age=0, must-revalidate", [], 504),
            ("max-age=0, proxy-revalidate", [], 504), ("s-maxage=0", [], 504), ("s-maxage=600", [], 200),
            ("max-age=600, must-revalidate", [], 200), ("max-age=0, proxy-revalidate", ["--private"], 200),
            ("s-maxage=0", ["--private"], 200), ("no-cache", ["--private"], 504),
        ])
    func `a proxy with --offline serves no stale response that the server forbids`(
        control: String, kind: [String], status: Int
    ) async throws {
        let shell = Shell()
        let origin = try ScriptedOrigin { _ in
            ScriptedOrigin.response("200 OK", "Cache-Control: \(control)", "ETag: \"a\"", body: "stored")
        }
        let online = try await RunningProxy(origin.base, options: kind, shell: shell)
        _ = try await online.send("GET /a")
        online.signal(SIGTERM)
        _ = await online.ended()
        let offline = try await RunningProxy(origin.base, options: kind + ["--offline"], shell: shell)
        for field in ["Accept: */*", "Cache-Control: no-cache", "Cache-Control: max-age=0"] {
            #expect(try await offline.send("GET /a", field).status == status, "\(field)")
        }
        #expect(origin.requests.count == 1)
    }

    @Test func `a proxy with --offline serves no invalidated response`() async throws {
        let shell = Shell()
        let origin = try ScriptedOrigin { _ in ScriptedOrigin.response("200 OK", Self.fresh, body: "stored") }
        let online = try await RunningProxy(origin.base, shell: shell)
        for line in ["GET /a", "GET /b", "POST /a"] { _ = try await online.send(line) }
        online.signal(SIGTERM)
        _ = await online.ended()
        let offline = try await RunningProxy(origin.base, "--offline", shell: shell)
        #expect(try await offline.send("GET /a").status == 504)
        #expect(try await offline.send("GET /b").status == 200)
    }

    @Test(
        arguments: [
            ("", "Cookie: sid=anna"), ("Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT", "Cookie: sid=anna"),
            ("Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT", "X-API-Key: anna"), ("ETag: \"1\"", "Cookie: sid=anna"),
            ("Set-Cookie: sid=anna", "Accept: */*"), ("Expires: 0", "Cookie: sid=anna"),
        ])
    func `a page of one user is served to no other, also when the origin is down`(
        field: String, credential: String
    ) async throws {
        let isDown = Guarded(false)
        let origin = try ScriptedOrigin { request in
            guard !isDown.withLock({ $0 }) else { return "" }
            let fields = field.isEmpty ? ["X-Empty: 1"] : [field]
            return request.number == 1
                ? "HTTP/1.1 200 OK\r\n\(fields[0])\r\nContent-Length: 6\r\n\r\nanna's"
                : ScriptedOrigin.response("200 OK", "Cache-Control: no-store", body: "other")
        }
        let proxy = try await RunningProxy(origin.base)
        #expect(try await proxy.send("GET /a", credential).body == "anna's")
        for isUp in [false, true] {
            isDown.withLock { $0 = !isUp }
            for other in ["Accept: */*", "Cookie: sid=ben", "Authorization: Basic YTpi"] {
                let answer = try await proxy.send("GET /a", other)
                #expect(isUp ? answer.body == "other" : answer.status == 502, "\(answer.head)")
            }
        }
    }

    @Test(arguments: ["GET /a", "HEAD /a"])
    func `a coding in a response without a body does not relabel the stored body`(line: String) async throws {
        let origin = try ScriptedOrigin { request in
            request.number == 1
                ? ScriptedOrigin.response("200 OK", "Cache-Control: max-age=0", "ETag: \"a\"", body: "plain")
                : "HTTP/1.1 \(request.value("If-None-Match") == nil ? "200 OK" : "304 Not Modified")\r\n"
                    + "Cache-Control: max-age=600\r\nETag: \"a\"\r\nContent-Encoding: gzip\r\nX-New: 1\r\n\r\n"
        }
        let proxy = try await RunningProxy(origin.base)
        _ = try await proxy.send("GET /a")
        _ = try await proxy.send(line, "Accept-Encoding: gzip", "Cache-Control: no-cache")
        let answer = try await proxy.send("GET /a", "Accept-Encoding: gzip")
        #expect(answer.body == "plain" && answer.values("Content-Encoding").isEmpty, "\(answer.head)")
        #expect(answer.isHit && answer.values("X-New") == ["1"] && answer.values("Content-Length") == ["5"])
    }

    @Test func `a gzip body without Vary is served to the clients that accept it`() async throws {
        let origin = try ScriptedOrigin { request in
            request.value("Accept-Encoding").map { $0.contains("gzip") && !$0.hasSuffix("q=0") } == true
                ? ScriptedOrigin.response("200 OK", Self.fresh, "Content-Encoding: gzip", body: "coded")
                : ScriptedOrigin.response("200 OK", Self.fresh, body: "plain")
        }
        let proxy = try await RunningProxy(origin.base)
        #expect(try await proxy.send("GET /a", "Accept-Encoding: gzip").body == "coded")
        #expect(try await proxy.send("GET /a", "Accept-Encoding: br, gzip;q=0.5").isHit)
        let fields = ["Accept-Encoding: gzip;q=0", "Accept-Encoding: identity", "Accept: */*"]
        for (number, field) in fields.enumerated() {
            let target = "/\(number)"
            _ = try await proxy.send("GET \(target)", "Accept-Encoding: gzip")
            let answer = try await proxy.send("GET \(target)", field)
            #expect(answer.body == "plain" && !answer.isHit && answer.values("Content-Encoding").isEmpty, "\(field)")
        }
    }

    @Test(
        arguments: [("404 Not Found", true), ("410 Gone", true), ("401 Unauthorized", false), ("302 Found", false)],
        ["", "Cache-Control: no-store", "Cache-Control: private"])
    func `a request with max-stale gets no response that the origin has superseded`(
        answer: (status: String, isSuperseding: Bool), control: String
    ) async throws {
        let (status, isSuperseding) = answer
        let origin = try ScriptedOrigin { request in
            request.number == 1
                ? ScriptedOrigin.response("200 OK", "Cache-Control: max-age=0", "ETag: \"a\"", body: "old")
                : ScriptedOrigin.response(status, control.isEmpty ? "X-Empty: 1" : control, body: "gone")
        }
        let proxy = try await RunningProxy(origin.base)
        _ = try await proxy.send("GET /a")
        #expect(try await proxy.send("GET /a").body == "gone")
        let stale = try await proxy.send("GET /a", "Cache-Control: max-stale")
        #expect(stale.body == (isSuperseding ? "gone" : "old"), "\(stale.head)")
    }

    @Test(arguments: ["today", "Sun, 06 Nov 1994 08:49:37 UTC", ""])
    func `an invalid Date is replaced by the time of receipt`(date: String) async throws {
        let origin = try ScriptedOrigin { _ in
            ScriptedOrigin.response("200 OK", "Date: \(date)", "Expires: Fri, 31 Dec 2100 23:59:59 GMT", body: "x")
        }
        let proxy = try await RunningProxy(origin.base)
        for isHit in [false, true] {
            let answer = try await proxy.send("GET /a")
            let dates = answer.values("Date")
            #expect(answer.isHit == isHit && dates.count == 1 && dates[0].hasSuffix(" GMT"), "\(answer.head)")
        }
    }

    @Test func `a request with only-if-cached gets 504 if nothing is stored`() async throws {
        let origin = try ScriptedOrigin { _ in ScriptedOrigin.response() }
        let proxy = try await RunningProxy(origin.base)
        let answer = try await proxy.send("GET /a", "Cache-Control: only-if-cached")
        #expect(answer.status == 504 && answer.body.contains("nothing stored"))
        #expect(origin.requests.isEmpty)
    }

    @Test func `a client that disconnects during a response leaves no incomplete response in the cache`() async throws {
        let body = String(repeating: "x", count: 8 << 20)
        let origin = try ScriptedOrigin { _ in ScriptedOrigin.response("200 OK", Self.fresh, body: body) }
        let proxy = try await RunningProxy(origin.base)
        do {
            let client = try proxy.client(sending: "GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
            _ = await client.read(through: "xxxx")
        }
        for _ in 1...2 { #expect(try await proxy.send("GET /a").body.utf8.count == body.utf8.count) }
    }

    @Test func `a truncated body is not stored`() async throws {
        let origin = try ScriptedOrigin { request in
            request.number == 1
                ? "HTTP/1.1 200 OK\r\n\(Self.fresh)\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz"
                : ScriptedOrigin.response("200 OK", Self.fresh, body: "whole")
        }
        let proxy = try await RunningProxy(origin.base)
        #expect(!(try await proxy.send("GET /a").body.hasSuffix("0\r\n\r\n")))
        let next = try await proxy.send("GET /a")
        #expect(next.body == "whole" && !next.isHit)
    }

    @Test func `variants of a URL are selected by Vary`() async throws {
        let origin = try ScriptedOrigin { request in
            ScriptedOrigin.response("200 OK", Self.fresh, "Vary: X-Kind", body: request.value("X-Kind") ?? "none")
        }
        let proxy = try await RunningProxy(origin.base)
        var statuses: [String] = []
        for kind in ["a", "b", "a", "b"] {
            let answer = try await proxy.send("GET /a", "X-Kind: \(kind)")
            #expect(answer.body == kind)
            statuses += answer.values("Cache-Status")
        }
        #expect(statuses.map { $0.contains("hit") } == [false, false, true, true])
        #expect(statuses[1] == "diamond; fwd=vary-miss; stored")
        #expect(origin.requests.count == 2)
    }

    /// A request with a condition or a range, and the answer from the cache.
    private static let conditions: [(field: String, status: Int, body: String)] = [
        ("If-None-Match: \"1\"", 304, ""), ("If-None-Match: \"2\"", 200, "0123456789"),
        ("Range: bytes=2-4", 206, "234"),
        ("Range: bytes=-2", 206, "89"), ("Range: bytes=10-", 416, ""), ("Range: bytes=0-1, 4-5", 200, "0123456789"),
    ]

    @Test func `conditions and ranges of clients are answered from the cache`() async throws {
        let origin = try ScriptedOrigin { _ in
            ScriptedOrigin.response("200 OK", Self.fresh, "ETag: \"1\"", body: "0123456789")
        }
        let proxy = try await RunningProxy(origin.base)
        _ = try await proxy.send("GET /a")
        for (field, status, body) in Self.conditions {
            let answer = try await proxy.send("GET /a", field)
            #expect(answer.status == status && answer.body == body, "\(field): \(answer.head)")
        }
        #expect(origin.requests.count == 1)
    }

    @Test(arguments: [("max-age=0, must-revalidate", 504), ("max-age=0", 200), ("no-store", 502)])
    func `a stale response is served when the origin does not answer, unless it must be revalidated`(
        control: String, status: Int
    ) async throws {
        let origin = try ScriptedOrigin { request in
            request.number == 1
                ? ScriptedOrigin.response("200 OK", "Cache-Control: \(control)", "ETag: \"1\"", body: "old") : ""
        }
        let proxy = try await RunningProxy(origin.base)
        _ = try await proxy.send("GET /a")
        let answer = try await proxy.send("GET /a")
        #expect(answer.status == status, "\(answer.head)")
    }

    @Test(arguments: [("max-age=0", 500), ("max-age=0", 503), ("max-age=0, stale-if-error=60", 503)])
    func `a large error response is served, unless stale-if-error allows the stored response instead`(
        control: String, status: Int
    ) async throws {
        let large = String(repeating: "x", count: 3 << 20)
        let origin = try ScriptedOrigin { request in
            request.number == 1
                ? ScriptedOrigin.response("200 OK", "Cache-Control: \(control)", "ETag: \"1\"", body: "old")
                : ScriptedOrigin.response("\(status) Error", body: large)
        }
        let proxy = try await RunningProxy(origin.base)
        _ = try await proxy.send("GET /a")
        let answer = try await proxy.send("GET /a")
        let isReplaced = control.contains("stale")
        #expect(answer.status == (isReplaced ? 200 : status) && answer.body == (isReplaced ? "old" : large))
        #expect(!answer.values("Cache-Status").contains { $0.contains("stored") })
    }

    @Test func `a hit has the fields that the origin sent, whatever their names and values`() async throws {
        let fields = [
            "X-API-Key: s3cret", "Authorization: x", "Authentication-Info: nextnonce=1", "WWW-Authenticate: NTLM abc",
            "Location: http://u:p@h/a?access_token=1", "Link: </b?api_key=2>; rel=next",
        ]
        let origin = try ScriptedOrigin { _ in
            let lines = [Self.fresh, "Proxy-Authenticate: Basic", "Connection: x-hop", "X-Hop: 1"] + fields
            return "HTTP/1.1 200 OK\r\n\(lines.joined(separator: "\r\n"))\r\nContent-Length: 1\r\n\r\nx"
        }
        let proxy = try await RunningProxy(origin.base)
        for isHit in [false, true] {
            let answer = try await proxy.send("GET /a")
            let lines = answer.head.split(separator: "\r\n").map(String.init)
            #expect(answer.isHit == isHit && fields.allSatisfy(lines.contains), "\(answer.head)")
            #expect(answer.values("Proxy-Authenticate").isEmpty && answer.values("X-Hop").isEmpty)
        }
    }

    @Test(arguments: ["", "hello", String(repeating: "x", count: 300_000)])
    func `a hit for a body that came in chunks has its Content-Length`(body: String) async throws {
        let chunk = body.isEmpty ? "" : "\(String(body.utf8.count, radix: 16))\r\n\(body)\r\n"
        let origin = try ScriptedOrigin { _ in
            "HTTP/1.1 200 OK\r\n\(Self.fresh)\r\nTransfer-Encoding: chunked\r\n\r\n\(chunk)0\r\n\r\n"
        }
        let proxy = try await RunningProxy(origin.base)
        _ = try await proxy.send("GET /a")
        for method in ["GET", "HEAD"] {
            let answer = try await proxy.send("\(method) /a")
            #expect(answer.isHit && answer.values("Content-Length") == ["\(body.utf8.count)"], "\(answer.head)")
            #expect(answer.values("Transfer-Encoding").isEmpty && answer.body == (method == "GET" ? body : ""))
        }
    }

    @Test func `entity tags of any bytes are sent, received and compared byte by byte`() async throws {
        let tag = [UInt8(ascii: "\""), 0xE9, 0xFF, UInt8(ascii: "\"")]
        let other = [UInt8(ascii: "\""), 0xEA, 0xFF, UInt8(ascii: "\"")]
        let heads = Guarded<[[UInt8]]>([])
        let origin = try RawServer { connection in
            while let head = connection.readHeadBytes() {
                heads.withLock { $0.append(head) }
                let isSame = head.firstRange(of: Array("If-None-Match: ".utf8) + tag) != nil
                connection.write(Array("HTTP/1.1 \(isSame ? 304 : 200) OK\r\n\(Self.fresh)\r\nETag: ".utf8) + tag)
                connection.write(isSame ? "\r\n\r\n" : "\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        let proxy = try await RunningProxy(origin.base)
        func answer(_ name: String, _ value: [UInt8]) async throws -> [UInt8] {
            let client = try proxy.client(sending: "GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\(name): ")
            client.write(value + Array("\r\n\r\n".utf8))
            return await client.read()
        }
        for (value, status) in [(other, 200), (tag, 304), (Array("W/".utf8) + tag, 304)] {
            let bytes = try await answer("If-None-Match", value)
            #expect(RawAnswer(bytes).status == status && bytes.firstRange(of: Array("ETag: ".utf8) + tag) != nil)
        }
        let validated = try await answer("Cache-Control", Array("max-age=0".utf8))
        #expect(RawAnswer(validated).body == "ok" && heads.withLock { $0.count } == 2)
    }

    @Test func `the response to a POST answers later GETs if Content-Location names its URL`() async throws {
        let origin = try ScriptedOrigin { request in
            ScriptedOrigin.response("200 OK", Self.fresh, "Content-Location: /a", body: "\(request.number)")
        }
        let proxy = try await RunningProxy(origin.base)
        _ = try await proxy.send("POST /a", body: "x")
        let answer = try await proxy.send("GET /a")
        #expect(answer.body == "1" && answer.isHit, "\(answer.head)")
    }

    @Test func `Cache-Status tells what was forwarded, stored and served`() async throws {
        let origin = try ScriptedOrigin { request in
            request.target == "/b"
                ? ScriptedOrigin.response("200 OK", "Cache-Control: no-store")
                : ScriptedOrigin.response("200 OK", Self.fresh)
        }
        let proxy = try await RunningProxy(origin.base)
        let answers = [
            try await proxy.send("GET /a"), try await proxy.send("GET /a"), try await proxy.send("GET /b"),
            try await proxy.send("POST /a"),
        ]
        let statuses = answers.map { $0.values("Cache-Status").first ?? "" }
        #expect(statuses[0] == "diamond; fwd=uri-miss; stored")
        #expect(statuses[1].hasPrefix("diamond; hit; ttl="))
        #expect(statuses[2] == "diamond; fwd=uri-miss")
        #expect(statuses[3] == "diamond; fwd=method")
    }

    @Test(arguments: [("304 Not Modified", "304"), ("503 Unavailable", "503"), ("", nil)] as [(String, String?)])
    func `Cache-Status tells of the request that was sent before a stored response`(
        status: String, forwarded: String?
    ) async throws {
        let origin = try ScriptedOrigin { request in
            guard request.number > 1 else {
                return ScriptedOrigin.response(
                    "200 OK", "Cache-Control: max-age=0, stale-if-error=60", "ETag: \"a\"", body: "stored")
            }
            return status.isEmpty ? "" : "HTTP/1.1 \(status)\r\nETag: \"a\"\r\nContent-Length: 0\r\n\r\n"
        }
        let proxy = try await RunningProxy(origin.base)
        _ = try await proxy.send("GET /a")
        let answer = try await proxy.send("GET /a")
        let value = answer.values("Cache-Status").first ?? ""
        let expected = "diamond; fwd=stale" + (forwarded.map { "; fwd-status=\($0)" } ?? "")
        #expect(answer.body == "stored" && value.hasPrefix(expected) && !value.contains("hit"), "\(answer.head)")
    }
}
