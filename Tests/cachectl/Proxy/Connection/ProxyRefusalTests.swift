import DiamondTestSupport
import Foundation
import Testing

@Suite("cachectl proxy refuses", .limit(minutes: 5)) struct ProxyRefusalTests {
    private static let chunk = "0\r\n\r\n"
    private static let spaces = String(repeating: "x", count: 1000)

    @Test(
        arguments: [
            ("Content-Length: 5\r\nTransfer-Encoding: chunked", chunk),
            ("Content-Length: 5\r\nContent-Length: 6", "hello!"),
            ("Content-Length: 5, 6", "hello"), ("Content-Length: +5", "hello"), ("Content-Length: 5 5", "hello"),
            ("Content-Length: -1", ""), ("Content-Length: 99999999999999999999", ""),
            ("Transfer-Encoding: gzip, chunked", chunk), ("Transfer-Encoding: xchunked", chunk),
            ("Transfer-Encoding: identity", ""), ("Transfer-Encoding: chunked, gzip", chunk),
            ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", chunk), ("Transfer-Encoding : chunked", chunk),
            ("Transfer-Encoding:\r\n chunked", chunk), ("Transfer-Encoding: chunked", "zz\r\nhello\r\n" + chunk),
            ("Transfer-Encoding: chunked", "5;\u{0}\r\nhello\r\n" + chunk), ("Host: y", ""), ("X\u{0}: y", ""),
            ("X : y", ""),
            ("X y: z", ""), ("Cache-Control : no-store", ""), ("X\t: y", ""), ("X \t: y", ""),
            ("Transfer-Encoding: chunked", "5;\(String(repeating: "x", count: 40_000))\r\nhello\r\n" + chunk),
            ("Transfer-Encoding: chunked", String(repeating: "1;\(spaces)\r\na\r\n", count: 50) + chunk),
        ])
    func `a request whose end is ambiguous, and closes the connection`(fields: String, body: String) async throws {
        let origin = try ScriptedOrigin { _ in ScriptedOrigin.response() }
        let proxy = try await RunningProxy(origin.base)
        let smuggled = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
        let answer = try await proxy.answer(
            to: "POST /a HTTP/1.1\r\nHost: x\r\n\(fields)\r\n\r\n\(body)\(smuggled)")
        #expect(answer.status == 400 && answer.values("Connection") == ["close"], "\(answer.head)")
        #expect(answer.head.matches(of: #/HTTP\/1\.1/#).count == 1 && !answer.body.contains("HTTP/1.1 "))
        #expect(!origin.requests.contains { $0.target == "/smuggled" })
    }

    @Test(
        arguments: [
            ("GET /a HTTP/1.1\r\n\r\n", 400), ("GET /a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
            ("F(O /a HTTP/1.1\r\nHost: x\r\n\r\n", 400), ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
            ("GET /a HTTP/2.0\r\nHost: x\r\n\r\n", 505),
            ("GET /a HTTP/1.1\nHost: x\n\n", 400), ("GET /a HTTP/1.1\nHost: x\r\n\r\n", 400),
            ("GET /a HTTP/1.1\r\nHost: x\n\r\n", 400), ("GET /a HTTP/1.1\n", 400), ("GET /a\r\nHost: x\r\n\r\n", 400),
            ("GET /a http/1.1\r\nHost: x\r\n\r\n", 400), ("GET /a HTTP/1.1x\r\nHost: x\r\n\r\n", 400),
            ("GET /a HTTP/11\r\nHost: x\r\n\r\n", 400), ("GET /a HTTP/0.9\r\nHost: x\r\n\r\n", 505),
            ("GET /a#b HTTP/1.1\r\nHost: x\r\n\r\n", 400), ("GET a HTTP/1.1\r\nHost: x\r\n\r\n", 400),
            ("GET /a HTTP/1.1\r\nHost: x/y\r\n\r\n", 400),
            ("GET /a HTTP/1.1\r\nHost: x\r\nX: \(String(repeating: "a", count: 70_000))\r\n\r\n", 431),
            ("GET /\(String(repeating: "a", count: 70_000)) HTTP/1.1\r\nHost: x\r\n\r\n", 414),
            ("\(String(repeating: "M", count: 70_000)) /a HTTP/1.1\r\nHost: x\r\n\r\n", 501),
            ("\(String(repeating: "M", count: 70_000))", 501),
            ("GET /a HTTP/1.1\r\nHost: x\r\n\(String(repeating: "X: a\r\n", count: 300))\r\n", 431),
        ])
    func `a malformed or too large head`(request: String, status: Int) async throws {
        let origin = try ScriptedOrigin { _ in ScriptedOrigin.response() }
        let proxy = try await RunningProxy(origin.base)
        let answer = try await proxy.answer(to: request)
        #expect(answer.status == status && answer.body.contains(#""status":\#(status)"#), "\(answer.head)")
        #expect(origin.requests.isEmpty)
    }

    @Test(
        arguments: [
            "HEAD /a HTTP/1.1\r\n\r\n", "HEAD a HTTP/1.1\r\nHost: x\r\n\r\n", "HEAD /a HTTP/1.1\nHost: x\n\n",
            "HEAD /a HTTP/1.1\r\nHost: x\r\nX y: z\r\n\r\n", "HEAD /a HTTP/2.0\r\n\r\n",
            "HEAD /a HTTP/1.1\r\nHost: x\r\nX: \(String(repeating: "a", count: 70_000))\r\n\r\n",
            "HEAD /a HTTP/1.1\r\nHost: x\r\nContent-Length: a\r\n\r\n",
            "HEAD http://other/a HTTP/1.1\r\nHost: x\r\n\r\n", "HEAD /a HTTP/1.1\r\nHost: x\r\n",
        ])
    func `a HEAD without a body in the answer`(request: String) async throws {
        let origin = try ScriptedOrigin { _ in ScriptedOrigin.response() }
        let proxy = try await RunningProxy(origin.base, "--client-timeout", "1s")
        let answer = try await proxy.answer(to: request)
        #expect((400..<600).contains(answer.status) && answer.body.isEmpty, "\(answer.head)")
    }

    @Test func `a body that arrives a byte at a time`() async throws {
        let origin = try ScriptedOrigin { _ in ScriptedOrigin.response() }
        let proxy = try await RunningProxy(origin.base, "--client-timeout", "1s")
        let client = try proxy.client(sending: "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n")
        // Each byte comes long before the time without progress is over.
        Thread.detachNewThread { while client.write("x") { Thread.sleep(forTimeInterval: 0.1) } }
        #expect(RawAnswer(await client.read()).status == 408)
    }

    @Test(arguments: ["GET /a HTTP/1.1\r\nHost: x\r\n", "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nslow"])
    func `a client that sends too slowly`(beginning: String) async throws {
        let origin = try ScriptedOrigin { _ in ScriptedOrigin.response() }
        let proxy = try await RunningProxy(origin.base, "--client-timeout", "1s")
        #expect(try await proxy.answer(to: beginning).status == 408)
    }

    @Test func `an origin that is not the URL of a server`() async throws {
        for origin in [
            "ftp://x", "http://", "x", "http://x/path", "http://u@x", "http://h:99999", "http://h:0", "http://h:",
            "http://h:+80", "http://h:a", "http://:80", "http://[::1", "http://[::1]x", "http://a:b:80",
        ] {
            let outcome = try await Shell()("proxy", "--origin", origin)
            #expect(outcome.status == 64 && outcome.errors.contains("--origin"), "\(origin): \(outcome.errors)")
        }
    }

    @Test(
        arguments: [
            (["--origin", "http://a.test", "--origin", "http://b.test"], "--origin is given 2 times"),
            (["--origin", "http://a.test", "--origin", "http://a.test"], "--origin is given 2 times"),
            (["--origin", "http://a.test", "--listen", ":1", "--listen", ":2"], "--listen is given 2 times"),
            ([], "--origin"), (["--origin", "http://a.test", "--quiet", "--log", "x"], "--log"),
            (["--origin", "http://a.test", "--max-clients", "0"], "--max-clients"),
            (["--origin", "http://a.test", "--health", "x"], "--health"),
            (["--origin", "https://a.test", "--ca-file", "/nonexistent"], "/nonexistent"),
            (["--origin", "https://a.test", "--ca-file", "/dev/null"], "/dev/null"),
            (["--origin", "http://a.test", "--log", "/nonexistent/log"], "/nonexistent/log"),
        ])
    func `options that it could obey only in part`(options: [String], message: String) async throws {
        let outcome = try await Shell()(["proxy"] + options)
        #expect(outcome.status == 64 && outcome.errors.contains(message), "\(outcome.errors)")
    }
}
