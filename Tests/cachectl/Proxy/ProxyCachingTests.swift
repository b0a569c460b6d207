import DiamondTestSupport
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct `cachectl proxy caches` {
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

    @Test func `a stale response is confirmed by the origin`() async throws {
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
    func `a status that is no success is stored, too`(status: String) async throws {
        let origin = try ScriptedOrigin { _ in
            ScriptedOrigin.response(status, Self.fresh, "Location: /b", body: "reason")
        }
        let proxy = try await RunningProxy(origin.base)
        let answers = [try await proxy.send("GET /a"), try await proxy.send("GET /a")]
        #expect(answers.map(\.body) == ["reason", "reason"] && answers.map(\.isHit) == [false, true])
        #expect(answers[1].values("Location") == ["/b"])
    }

    @Test func `a coded body passes as it came, with its coding and length`() async throws {
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
    func `Set-Cookie is stored, unless told otherwise`(isDropped: Bool) async throws {
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

    @Test func `offline, the store answers, and 504 everything else`() async throws {
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

    @Test func `a request for the cache only gets 504 if nothing is stored`() async throws {
        let origin = try ScriptedOrigin { _ in ScriptedOrigin.response() }
        let proxy = try await RunningProxy(origin.base)
        let answer = try await proxy.send("GET /a", "Cache-Control: only-if-cached")
        #expect(answer.status == 504 && answer.body.contains("nothing stored"))
        #expect(origin.requests.isEmpty)
    }

    @Test func `a client that leaves in the middle leaves nothing wrong behind`() async throws {
        let body = String(repeating: "x", count: 8 << 20)
        let origin = try ScriptedOrigin { _ in ScriptedOrigin.response("200 OK", Self.fresh, body: body) }
        let proxy = try await RunningProxy(origin.base)
        do {
            let client = try proxy.client(sending: "GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
            _ = await client.read(through: "xxxx")
        }
        for _ in 1...2 { #expect(try await proxy.send("GET /a").body.utf8.count == body.utf8.count) }
    }

    @Test func `a body that ends early is stored by nobody`() async throws {
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
    func `a lost origin is replaced by a stale response, unless that must be validated`(
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
}
