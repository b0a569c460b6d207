import DiamondTestSupport
import Foundation
import Testing

@Suite("The access log of cachectl proxy", .limit(minutes: 5)) struct ProxyLogTests {
    private static func origin() throws -> ScriptedOrigin {
        try ScriptedOrigin { _ in ScriptedOrigin.response("200 OK", "Cache-Control: max-age=600", body: "hello") }
    }

    @Test func `has time, client, agent and reason of each request`() async throws {
        let origin = try Self.origin()
        let proxy = try await RunningProxy(origin.base)
        for _ in 1...2 { _ = try await proxy.send("GET /a?token=s3cret", #"User-Agent: a "b\" 1.0"#) }
        _ = try await proxy.send("GET /b?token=s3cret", "Host: y", "User-Agent: c")
        _ = try await proxy.answer(to: "BAD\r\n\r\n")
        let time = #/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z 127\.0\.0\.1 /#
        let ends = [
            #"GET \#(origin.base)/a?token=••• 200 5 network "#, #"GET \#(origin.base)/a?token=••• 200 5 cache "#,
            "GET \(origin.base)/b 400 ", "BAD - 400 ",
        ]
        let reasons = [
            #" "a \"b\\\" 1.0" fwd=uri-miss; stored"#, #" "a \"b\\\" 1.0" hit; ttl="#,
            #" "c" the request needs one Host field"#, #" "-" the method is malformed"#,
        ]
        for (end, reason) in zip(ends, reasons) {
            let line = await proxy.nextLine()
            let rest = line.trimmingPrefix(time)
            #expect(rest.count < line.count && rest.hasPrefix(end) && rest.contains(reason), "\(line)")
        }
    }

    private struct Line: Decodable {
        var time: String
        var client: String
        var method: String
        var url: String
        var status: Int
        var bytes: Int
        var source: String
        var milliseconds: Double
        var agent: String?
        var reason: String
    }

    @Test func `has an object for each request with --json`() async throws {
        let origin = try Self.origin()
        let proxy = try await RunningProxy(origin.base, "--json")
        _ = try await proxy.send("GET /a?token=s3cret", "User-Agent: a \"b\"")
        _ = try await proxy.answer(to: "GET /a HTTP/1.1\r\n\r\n")
        let lines = [await proxy.nextLine(), await proxy.nextLine()]
        let values = try lines.map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
        #expect(values.map(\.status) == [200, 400] && values.map(\.client) == ["127.0.0.1", "127.0.0.1"])
        #expect(values.map(\.agent) == ["a \"b\"", nil] && values.map(\.source) == ["network", "generated"])
        #expect(values[0].url == "\(origin.base)/a?token=•••" && values[0].bytes == 5 && values[0].method == "GET")
        #expect(values.map(\.reason) == ["fwd=uri-miss; stored", "the request needs one Host field"])
    }

    @Test func `has the address of an unreachable origin, which the client does not get`() async throws {
        let origin = String(try RawServer.refusedURL().dropLast())
        let proxy = try await RunningProxy(origin)
        let answer = try await proxy.send("GET /a")
        let port = try #require(origin.split(separator: ":").last)
        #expect(answer.status == 502 && answer.body.contains(#""detail":"the server"#))
        #expect(!(answer.head + answer.body).contains(port) && !answer.body.contains("127.0.0.1"))
        let line = await proxy.nextLine()
        #expect(line.contains(" 502 ") && line.split(separator: "\" ").last?.contains("refused") == true, "\(line)")
    }

    @Test func `is a new file after SIGHUP, if another program has renamed it`() async throws {
        let folder = TemporaryFolder()
        let path = folder.url.appending(path: "access.log").path
        let proxy = try await RunningProxy(try Self.origin().base, "--log", path)
        func lines(_ path: String) -> [Substring] {
            ((try? String(contentsOfFile: path, encoding: .utf8)) ?? "").split(separator: "\n")
        }
        _ = try await proxy.send("GET /a")
        await untilTrue { lines(path).count == 1 }
        try FileManager.default.moveItem(atPath: path, toPath: path + ".1")
        _ = try await proxy.send("GET /b")
        await untilTrue { lines(path + ".1").count == 2 }
        proxy.signal(SIGHUP)
        await untilTrue { FileManager.default.fileExists(atPath: path) }
        // The file is used a moment after it was opened.
        while lines(path).isEmpty { _ = try await proxy.send("GET /c") }
        let line = lines(path)[0]
        #expect(line.contains("/c "), "\(line)")
        proxy.signal(SIGTERM)
        let (ending, log) = await proxy.ended()
        #expect(ending == .exited(0) && log.isEmpty)
    }
}
