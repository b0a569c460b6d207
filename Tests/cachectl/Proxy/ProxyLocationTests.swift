import DiamondTestSupport
import Foundation
import Testing

@Suite("A Location of the origin of cachectl proxy", .limit(minutes: 5)) struct ProxyLocationTests {
    /// A URL in which `ORIGIN` and `PROXY` stand for the authorities, and the URL that the client gets.
    private static let urls = [
        ("http://ORIGIN/b?c#d", "http://PROXY/b?c#d"), ("http://ORIGIN", "http://PROXY"),
        ("HTTP://ORIGIN?b", "http://PROXY?b"), ("//ORIGIN/b", "http://PROXY/b"),
        ("http://ORIGIN//b/../c", "http://PROXY//b/../c"), ("/b", "/b"), ("b?c", "b?c"), ("//other/b", "//other/b"),
        ("https://ORIGIN/b", "https://ORIGIN/b"), ("http://other/b", "http://other/b"),
        ("http://u@ORIGIN/b", "http://u@ORIGIN/b"), ("http://PROXY/b", "http://PROXY/b"),
        ("http://ORIGIN.test/b", "http://ORIGIN.test/b"), ("", ""),
    ]

    private static func filled(_ url: String, _ origin: String, _ proxy: String) -> String {
        url.replacing("ORIGIN", with: origin.dropFirst(7)).replacing("PROXY", with: proxy)
    }

    @Test(arguments: urls)
    func `has the address by which the client knows the proxy`(url: String, expected: String) async throws {
        let origin = try ScriptedOrigin { request in
            let host = request.value("Host") ?? ""
            let location = Self.filled(url, "http://\(host)", request.value("X-Forwarded-Host") ?? "")
            return ScriptedOrigin.response(
                "201 Created", "Location: \(location)", "Content-Location: \(location)", "Cache-Control: no-store")
        }
        let proxy = try await RunningProxy(origin.base)
        for name in [proxy.address, "public.example"] {
            let answer = try await proxy.answer(
                to: "POST /a HTTP/1.1\r\nHost: \(name)\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
            let location = Self.filled(expected, origin.base, name)
            // A URL of the proxy itself becomes one of the origin for the cache, and back.
            #expect(answer.values("Location") == [location], "\(answer.head)")
            #expect(answer.values("Content-Location") == [location])
        }
    }

    @Test func `has the address of each client of a stored response`() async throws {
        let origin = try ScriptedOrigin { request in
            let location = "http://\(request.value("Host") ?? "")/b"
            return ScriptedOrigin.response("301 Moved", "Location: \(location)", "Cache-Control: max-age=60")
        }
        let proxy = try await RunningProxy(origin.base)
        for name in ["one.example", "two.example:81", "two.example:81"] {
            let answer = try await proxy.answer(to: "GET /a HTTP/1.1\r\nHost: \(name)\r\nConnection: close\r\n\r\n")
            #expect(answer.values("Location") == ["http://\(name)/b"])
        }
        let old = try await proxy.answer(to: "GET /a HTTP/1.0\r\n\r\n")
        #expect(old.values("Location") == ["/b"] && origin.requests.count == 1)
    }

    @Test func `does not depend on the host that another client has named`() async throws {
        let location = "https://login.example/x"
        let origin = try ScriptedOrigin { _ in
            ScriptedOrigin.response("301 Moved", "Location: \(location)", "Cache-Control: max-age=60")
        }
        let proxy = try await RunningProxy(origin.base)
        for name in ["login.example", "public.example", "login.example"] {
            let answer = try await proxy.answer(to: "GET /a HTTP/1.1\r\nHost: \(name)\r\nConnection: close\r\n\r\n")
            #expect(answer.values("Location") == [location])
        }
        #expect(origin.requests.count == 1)
    }

    @Test func `has the scheme and host that a trusted proxy names`() async throws {
        let origin = try ScriptedOrigin { request in
            ScriptedOrigin.response("302 Found", "Location: http://\(request.value("Host") ?? "")/b")
        }
        let proxy = try await RunningProxy(origin.base, "--trust-forwarded")
        let answer = try await proxy.send("GET /a", "X-Forwarded-Proto: https", "X-Forwarded-Host: public.example")
        #expect(answer.values("Location") == ["https://public.example/b"])
    }

    @Test(arguments: ["Location", "Content-Location"], ["http://PROXY/b", "//PROXY/b", "https://PROXY/b", "/b"])
    func `with the proxy's own address invalidates what the proxy has stored`(name: String, url: String) async throws {
        let origin = try ScriptedOrigin { request in
            guard request.line.hasPrefix("POST") else {
                return ScriptedOrigin.response("200 OK", "Cache-Control: max-age=600", body: "\(request.number)")
            }
            return ScriptedOrigin.response(
                "201 Created", "\(name): \(url.replacing("PROXY", with: request.value("X-Forwarded-Host") ?? ""))")
        }
        let proxy = try await RunningProxy(origin.base)
        _ = try await proxy.send("GET /b")
        #expect(try await proxy.send("GET /b").isHit)
        #expect(try await proxy.send("POST /a", body: "x").status == 201)
        #expect(try await proxy.send("GET /b").body == "3")
    }
}
