import DiamondTestSupport
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct `cachectl proxy refuses` {
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
            ("GET /a#b HTTP/1.1\r\nHost: x\r\n\r\n", 400), ("GET a HTTP/1.1\r\nHost: x\r\n\r\n", 400),
            ("GET /a HTTP/1.1\r\nHost: x/y\r\n\r\n", 400),
            ("GET /a HTTP/1.1\r\nHost: x\r\nX: \(String(repeating: "a", count: 70_000))\r\n\r\n", 431),
            ("GET /a HTTP/1.1\r\nHost: x\r\n\(String(repeating: "X: a\r\n", count: 300))\r\n", 431),
        ])
    func `a malformed or too large head`(request: String, status: Int) async throws {
        let origin = try ScriptedOrigin { _ in ScriptedOrigin.response() }
        let proxy = try await RunningProxy(origin.base)
        let answer = try await proxy.answer(to: request)
        #expect(answer.status == status && answer.body.contains(#""status":\#(status)"#), "\(answer.head)")
        #expect(origin.requests.isEmpty)
    }

    @Test(arguments: ["GET /a HTTP/1.1\r\nHost: x\r\n", "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nslow"])
    func `a client that sends too slowly`(beginning: String) async throws {
        let origin = try ScriptedOrigin { _ in ScriptedOrigin.response() }
        let proxy = try await RunningProxy(origin.base, "--client-timeout", "1s")
        #expect(try await proxy.answer(to: beginning).status == 408)
    }

    @Test func `an origin that is not the URL of a server`() async throws {
        for origin in ["ftp://x", "http://", "x", "http://x/path", "http://u@x"] {
            let outcome = try await Shell()("proxy", "--origin", origin)
            #expect(outcome.status == 64 && outcome.errors.contains("--origin"), "\(origin): \(outcome.errors)")
        }
    }
}
