import Diamond
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@Suite("A recording") struct RecordingTests {
    private func response(_ transport: any Transport, _ request: TransportRequest) async throws -> (Int, String) {
        let response = try await transport.send(request)
        return (response.status.code, String(decoding: try await response.body.collect(), as: UTF8.self))
    }

    private static let link = HTTPField.Name("Link") ?? .via

    private let cities = TransportRequest(url: "http://h/cities?b=2&a=1")

    @Test func `replays the server's responses in order, and then repeats the last one`() async throws {
        let stub = StubTransport { request throws(TransportError) in
            .stub(status: request.method == .post ? 201 : 200, headers: [.eTag: "\"1\""], body: request.url)
        }
        let recorder = RecordingTransport(stub)
        for _ in 0..<2 { _ = try await recorder.send(cities) }
        let order = TransportRequest(method: .post, url: "http://h/", body: .bytes(Data("1".utf8)))
        _ = try await recorder.send(order)
        var recording = recorder.recording
        recording.exchanges[1].body = .text("second")

        let replayer = ReplayingTransport(recording)
        #expect(replayer.unused.count == 3)
        #expect(try await response(replayer, cities) == (200, "http://h/cities?b=2&a=1"))
        #expect(try await response(replayer, cities) == (200, "second"))
        #expect(try await response(replayer, cities) == (200, "second"))
        #expect(replayer.unused.map(\.method) == ["POST"])
        #expect(try await response(replayer, order) == (201, "http://h/"))
        #expect(try await replayer.send(order).headers[.eTag] == "\"1\"")
        #expect(replayer.unused.isEmpty)
    }

    @Test func `masks secrets in a body of another charset, and changes nothing else in the body`() async throws {
        let body = Data(#"{"name":""#.utf8) + [0xE9] + Data(#"","access_token":"s3cret"}"#.utf8)
        let stub = StubTransport { _ in
            TransportResponse(
                status: .ok, headers: [.contentType: "application/json; charset=iso-8859-1"], body: BodyStream(body))
        }
        let recorder = RecordingTransport(stub)
        _ = try await response(recorder, cities)
        let kept = try await ReplayingTransport(recorder.recording).send(cities).body.collect()
        #expect(kept.firstRange(of: Data("s3cret".utf8)) == nil)
        #expect(kept.prefix(11) == body.prefix(11) && kept.last == UInt8(ascii: "}"))
    }

    @Test func `counts its unused exchanges, even if they are equal`() async throws {
        let recorder = RecordingTransport(StubTransport())
        for _ in 0..<3 { _ = try await recorder.send(cities) }
        let replayer = ReplayingTransport(recorder.recording)
        for rest in [2, 1, 0, 0] {
            _ = try await replayer.send(cities)
            #expect(replayer.unused.count == rest)
        }
    }

    @Test func `accepts headers without a value, and refuses an invalid status`() async throws {
        let recorder = RecordingTransport(StubTransport())
        _ = try await recorder.send(cities)
        var recording = recorder.recording
        recording.exchanges[0].headers = ["Allow:", "ETag: \"a:b\""]
        let response = try await ReplayingTransport(recording).send(cities)
        #expect(response.headers == [.allow: "", .eTag: "\"a:b\""])
        for status in [-1, 1000, Int.max] {
            recording.exchanges[0].status = status
            let error = await #expect(throws: TransportError.self) {
                try await ReplayingTransport(recording).send(cities)
            }
            #expect(error?.code == .badResponse && error?.message.contains("\(status)") == true)
        }
    }

    @Test(arguments: [
        TransportRequest(url: "http://h/towns"), TransportRequest(method: .post, url: "http://h/cities?b=2&a=1"),
        TransportRequest(url: "http://h/cities?b=2&a=1", body: .bytes(Data("1".utf8))),
    ])
    func `fails for a request that was not recorded, and names its method`(request: TransportRequest) async throws {
        let recorder = RecordingTransport(StubTransport())
        _ = try await recorder.send(cities)
        let error = await #expect(throws: TransportError.self) {
            try await ReplayingTransport(recorder.recording).send(request)
        }
        #expect(error?.code == .cannotConnect && error?.message.contains(request.method.rawValue) == true)
    }

    @Test func `is written to a file, and read from it`() async throws {
        let stub = StubTransport { request throws(TransportError) in
            request.url == "http://h/text" ? .stub(body: "ä") : .stub(body: Data([0xFF, 0]))
        }
        let recorder = RecordingTransport(stub)
        for path in ["text", "bytes"] { _ = try await recorder.send(TransportRequest(url: "http://h/\(path)")) }
        let directory = TemporaryStore().directory
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let file = directory.appending(path: "recording.json")
        try recorder.recording.write(to: file)
        #expect(try Recording(contentsOf: file) == recorder.recording)
        #expect(recorder.recording.exchanges.map(\.body) == [.text("ä"), .base64(Data([0xFF, 0]))])
    }

    @Test(arguments: [
        ("application/json", #"{"user":"a","password": "s3cret","id":12345678901234567890}"#),
        ("application/json", #"[{"access_token" : "s3cret\"s3cret"},{"token":123}]"#),
        ("application/json", #"{"tags":["a",":"],"token":"s3cret"}"#),
        ("application/json", #"{"token":{"value":"s3cret","of":["s3cret",123]},"passwords":["s3cret"]}"#),
        ("application/json", #"{"next":"https://h/?access_token=s3cret&a=1","self":"h?a=1\u0026token\u003ds3cret"}"#),
        ("application/json", #"{"access\u005ftoken":"s3cret"}"#), ("application/json", #"[{"token":"s3cret"#),
        // Combining marks after a quotation mark or an equals sign.
        ("application/json", "{\"a\":\"\u{301}\",\"token\":\"s3cret\"}"),
        ("application/x-www-form-urlencoded", "a=\u{301}&password=\u{301}s3cret"),
        ("application/x-www-form-urlencoded", "user=a&password=s3cret"),
        ("Application/X-WWW-Form-URLEncoded; charset=utf-8", "user=a&password=s3cret"),
    ])
    func `contains no value whose name says that it is a secret`(type: String, body: String) async throws {
        let stub = StubTransport(
            headers: [
                .setCookie: "sid=s3cret", .contentType: type, .location: "/cb?access_token=s3cret&page=1#s3cret",
                .contentLocation: "https://ann:s3cret@h/@?page=1",
                Self.link: "<https://h/?access_token=s3cret&page=2>; rel=next, </?page=0&token=s3cret>; rel=prev",
            ],
            body: body)
        let recorder = RecordingTransport(stub)
        let request = TransportRequest(
            method: .post, url: "http://h/?api_key=s3cret&page=1&filter=%5B%7B%22token%22:%22s3cret%22%7D%5D",
            headers: [.authorization: "Bearer s3cret", .contentType: type], body: .bytes(Data(body.utf8)))
        #expect(try await response(recorder, request).1 == body)
        let text = "\(recorder.recording)"
        #expect(!text.contains("s3cret") && !text.contains("123}") && text.contains("page=1"))
        #expect(text.contains("Content-Location: https://h/@?page=1"))
        #expect(!body.contains("123}") || text.contains(#"token\":0"#) || text.contains(#"token":0"#))
        #expect(body.contains("12345678901234567890") == text.contains("12345678901234567890"))
        _ = try await ReplayingTransport(recorder.recording).send(request)
    }

    @Test func `keeps the text before and after a masked secret`() async throws {
        let stub = StubTransport(
            headers: [
                .setCookie: "sid=s3cret; Path=/; HttpOnly", .wwwAuthenticate: "Bearer realm=\"a\"",
                Self.link: "</?page=2&token=s3cret>; rel=next",
                .proxyAuthenticate: "negotiate s3cret, Basic realm=\"b\"",
            ],
            body: #"{"token": {"of": ["a", true], "n": null}, "id": 1, "url": "h?a=b&key=1#c", "q": "\/"}"#)
        let recorder = RecordingTransport(stub)
        _ = try await recorder.send(cities)
        let exchange = try #require(recorder.recording.exchanges.first)
        #expect(
            exchange.headers == [
                "Set-Cookie: sid=•••; Path=/; HttpOnly", "WWW-Authenticate: Bearer realm=\"a\"",
                "Link: </?page=2&token=•••>; rel=next",
                "Proxy-Authenticate: negotiate •••, Basic realm=\"b\"",
            ])
        let body = #"{"token": {"of": ["•••", true], "n": null}, "id": 1, "url": "h?a=b&key=•••#c", "q": "\/"}"#
        #expect(exchange.body == .text(body))
    }

    // An empty body with a length of 13 bytes, as in a response to HEAD.
    @Test(arguments: [(#"{"token":"1"}"#, 13, 21), ("plain", 5, 5), ("", 13, 13)])
    func `has the Content-Length of the body with masked secrets`(body: String, length: Int, masked: Int) async throws {
        let stub = StubTransport(headers: [.contentLength: "\(length)"], body: body)
        let recorder = RecordingTransport(stub)
        #expect(try await recorder.send(cities).headers[.contentLength] == "\(length)")
        #expect(try await ReplayingTransport(recorder.recording).send(cities).headers[.contentLength] == "\(masked)")
    }

    @Test(arguments: ["http://h/cities?b=2&a=1", "HTTP://H:80/x/../cities?a=1&b=2#top"])
    func `matches every equivalent form of a URL`(url: String) async throws {
        let exchange = Recording.Exchange(url: url, headers: ["ETag: \"1\""], body: .text("[]"))
        let replayer = ReplayingTransport(Recording(exchanges: [exchange]))
        #expect(try await response(replayer, cities) == (200, "[]"))
    }

    @Test(arguments: [
        ("application/json", #"{"token":"s3cret","id":1}"#), ("application/x-www-form-urlencoded", "a=1&token=s3cret"),
        ("text/plain", "s3cret"),
    ])
    func `matches a request with other values of secrets`(type: String, body: String) async throws {
        let exchange = Recording.Exchange(
            method: "POST", url: "http://h/?api_key=s3cret", requestBody: .text(body), status: 201)
        let replayer = ReplayingTransport(Recording(exchanges: [exchange]))
        let sent = type == "text/plain" ? body : body.replacing("s3cret", with: "other")
        let request = TransportRequest(
            method: .post, url: "http://h/?api_key=other", headers: [.contentType: type], body: .bytes(Data(sent.utf8)))
        #expect(try await response(replayer, request) == (201, ""))
    }

    @Test func `is refused if it has another version, with an error that says what to do`() throws {
        let written = String(decoding: try JSONEncoder().encode(Recording()), as: UTF8.self)
        #expect(try JSONDecoder().decode(Recording.self, from: Data(written.utf8)) == Recording())
        let newer = Data(written.replacing(#""version":1"#, with: #""version":2"#).utf8)
        let error = #expect(throws: DecodingError.self) { try JSONDecoder().decode(Recording.self, from: newer) }
        guard case .dataCorrupted(let context)? = error else { return #expect(Bool(false), "it is another error") }
        #expect(context.debugDescription.contains("version 2") && context.debugDescription.contains("record it again"))
    }

    @Test func `provides an engine with responses, whose freshness follows the test's clock`() async throws {
        let recorder = RecordingTransport(StubTransport(headers: [.cacheControl: "max-age=60"], body: "[]"))
        _ = try await Engine(.init(testing: recorder)).send(Request("http://h/cities"))
        let (clock, store) = (TestClock(), TemporaryStore())
        let transport = ReplayingTransport(recorder.recording)
        let engine = Engine(.init(testing: transport, clock: clock, store: store))
        #expect(try await engine.send(Request("http://h/cities")).source == .network)
        #expect(try await engine.send(Request("http://h/cities")).source == .cache)
        clock.advance(by: .seconds(61))
        #expect(try await engine.send(Request("http://h/cities")).source == .network)
    }
}
