import DiamondTestSupport
import Foundation
import Testing

@Suite("A connection of cachectl proxy, with hits in memory", .limit(minutes: 5)) struct HitResponderTests {
    /// An origin whose responses have their target as the body. Those below `/stored` are fresh for ten minutes.
    private static func origin() throws -> ScriptedOrigin {
        try ScriptedOrigin { request in
            let isStored = request.target.hasPrefix("/stored")
            return ScriptedOrigin.response(
                "200 OK", "Cache-Control: \(isStored ? "max-age=600" : "no-store")", body: request.target)
        }
    }

    private static func request(_ line: String, _ fields: String...) -> String {
        ([line, "Host: x"] + fields).joined(separator: "\r\n") + "\r\n\r\n"
    }

    /// Returns the responses in the bytes of a connection.
    private static func answers(_ bytes: [UInt8]) -> [RawAnswer] {
        let parts = String(decoding: bytes, as: UTF8.self).components(separatedBy: "HTTP/1.1 ").dropFirst()
        return parts.map { RawAnswer(Array("HTTP/1.1 \($0)".utf8)) }
    }

    @Test func `answers requests in order, also those that it does not wait for`() async throws {
        let origin = try Self.origin()
        let proxy = try await RunningProxy(origin.base)
        for _ in 1...2 { _ = try await proxy.send("GET /stored/a") }
        let lines = ["GET /stored/a", "GET /b", "HEAD /stored/a", "GET /stored/a", "POST /c", "GET /stored/a"]
        let last = lines.count - 1
        let requests = lines.enumerated().map { index, line in
            let length = line.hasPrefix("POST") ? ["Content-Length: 0"] : []
            let fields = length + (index == last ? ["Connection: close"] : [])
            return (["\(line) HTTP/1.1", "Host: x"] + fields).joined(separator: "\r\n") + "\r\n\r\n"
        }
        let answers = try await Self.answers(proxy.client(sending: requests.joined()).read())
        #expect(answers.map(\.body) == ["/stored/a", "/b", "", "/stored/a", "/c", "/stored/a"])
        #expect(answers.map(\.isHit) == [true, false, true, true, false, true])
        #expect(answers.map { $0.values("Connection") } == Array(repeating: [], count: last) + [["close"]])
        #expect(answers[2].values("Content-Length") == ["9"])
        proxy.signal(SIGTERM)
        let log = await proxy.ended().log.suffix(lines.count).map {
            $0.split(separator: " ").dropFirst(2).prefix(5).joined(separator: " ")
        }
        #expect(log.first == "GET \(origin.base)/stored/a 200 9 cache" && log[2].hasSuffix("/stored/a 200 0 cache"))
    }

    @Test func `answers a hit as it answers a miss, with the fields of a proxy`() async throws {
        let origin = try Self.origin()
        let proxy = try await RunningProxy(origin.base)
        for _ in 1...2 { _ = try await proxy.send("GET /stored/a") }
        let bytes = try await proxy.client(
            sending: Self.request("GET /stored/a HTTP/1.1")
                + Self.request("GET /stored/a HTTP/1.0", "Connection: keep-alive")
                + Self.request("GET /stored/a HTTP/1.0")
        ).read()
        let answers = Self.answers(bytes)
        #expect(answers.map { $0.values("Connection") } == [[], ["keep-alive"], ["close"]])
        for answer in answers {
            #expect(answer.status == 200 && answer.body == "/stored/a" && answer.isHit, "\(answer.head)")
            #expect(answer.values("Date").count == 1 && answer.values("Via").count == 1, "\(answer.head)")
            #expect(answer.values("Cache-Status").first?.hasPrefix("diamond; hit; ttl=") == true)
        }
        for line in ["GET /stored/a HTTP/1.1\r\nHost: x\r\nHost: y", "GET stored HTTP/1.1\r\nHost: x"] {
            let client = try proxy.client(sending: Self.request("GET /stored/a HTTP/1.1") + line + "\r\n\r\n")
            #expect(Self.answers(await client.read()).map(\.status) == [200, 400])
        }
    }

    // The responder writes the smaller ones from memory, and the task the larger ones from the store.
    @Test(arguments: [100_000, 200_000, 900_000])
    func `answers large hits whole and in order, also if the client reads late`(size: Int) async throws {
        let large = String(repeating: "x", count: size)
        let origin = try ScriptedOrigin { request in
            ScriptedOrigin.response("200 OK", "Cache-Control: max-age=600", body: request.target + large)
        }
        let proxy = try await RunningProxy(origin.base)
        for target in ["/a", "/b", "/a", "/b"] { _ = try await proxy.send("GET \(target)") }
        let targets = (0..<12).map { $0 % 3 == 0 ? "/a" : "/b" }
        let requests = targets.dropLast().map { Self.request("GET \($0) HTTP/1.1") }
        let last = Self.request("GET /b HTTP/1.1", "Connection: close")
        let client = try proxy.client(sending: requests.joined() + last)
        // A later client is answered while this one has read nothing.
        #expect(try await proxy.send("GET /a").isHit)
        let answers = await Self.answers(client.read())
        #expect(answers.map { $0.body.prefix(2) } == targets.map { $0.prefix(2) })
        #expect(answers.allSatisfy { $0.body.count == size + 2 && $0.isHit })
    }
}
