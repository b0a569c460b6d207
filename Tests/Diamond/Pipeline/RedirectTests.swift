import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite struct `A redirect` {
    /// Answers the first request with a redirect, everything after with 200.
    private func engine(_ status: Int, to location: String) -> (Engine, StubTransport) {
        let transport = StubTransport { request throws(TransportError) in
            request.url.hasSuffix("/start") ? .stub(status: status, headers: [.location: location]) : .stub()
        }
        var configuration = Engine.Configuration(store: nil)
        configuration.transport = transport
        return (Engine(configuration), transport)
    }

    @Test(
        arguments: [
            (301, .get, .get, false), (302, .get, .get, false), (303, .get, .get, false), (307, .get, .get, false),
            (301, .post, .get, false), (302, .post, .get, false), (303, .post, .get, false), (307, .post, .post, true),
            (308, .post, .post, true), (303, .put, .get, false), (301, .put, .put, true), (303, .head, .head, false),
        ] as [(Int, HTTPRequest.Method, HTTPRequest.Method, Bool)])
    func `repeats or rewrites the method`(
        status: Int,
        method: HTTPRequest.Method,
        next: HTTPRequest.Method,
        keepsBody: Bool
    ) async throws {
        let (engine, transport) = engine(status, to: "/end")
        let hasBody = method != .get && method != .head
        let response = try await engine.send(Request("http://h/start", method: method, body: hasBody ? .json(1) : nil))
        #expect(response.url == "http://h/end")
        let last = try #require(transport.requests.last)
        #expect(last.method == next)
        if case .bytes(let body) = last.body {
            #expect(keepsBody && body == Data("1".utf8))
        } else {
            #expect(!keepsBody)
        }
        #expect((last.headers[.contentType] != nil) == keepsBody)
    }

    @Test(arguments: [
        ("/x", "http://h/x"), ("x?y=1", "http://h/a/x?y=1"), ("//other/x", "http://other/x"), ("../b", "http://h/b"),
        ("https://h/x#frag", "https://h/x"), ("?q", "http://h/a/start?q"),
    ]) func `is resolved against the URL it came from`(location: String, url: String) async throws {
        let transport = StubTransport { request throws(TransportError) in
            request.url == "http://h/a/start?z=1" ? .stub(status: 307, headers: [.location: location]) : .stub()
        }
        var configuration = Engine.Configuration(store: nil)
        configuration.transport = transport
        _ = try await Engine(configuration).send(Request("http://h/a/start", parameters: ["z": 1]))
        #expect(transport.requests.last?.url == url)
    }

    @Test(arguments: [("/end", true), ("http://h:8080/end", false), ("https://h/end", false), ("http://i/end", false)])
    func `takes credentials along to its own origin only`(location: String, keeps: Bool) async throws {
        let (engine, transport) = engine(307, to: location)
        var request = Request("http://h/start", headers: [.authorization: "s", .cookie: "s", .accept: "x"])
        request.headers.append(try HTTPField(checking: "X-API-Key", "s"))
        request.headers.append(try HTTPField(checking: "Host", "internal"))
        _ = try await engine.send(request)
        let headers = try #require(transport.requests.last?.headers)
        #expect((headers[.authorization] != nil) == keeps)
        #expect((headers[.cookie] != nil) == keeps)
        #expect(headers.contains { $0.name.canonicalName == "x-api-key" } == keeps)
        // The name of the server that it was for.
        #expect(headers.contains { $0.name.canonicalName == "host" } == keeps)
        #expect(headers[.accept] == "x")
    }

    @Test(
        arguments: [
            (307, "/end", "k"), (308, "https://h/end", "k"), (307, "http://other/end", "k"), (303, "/end", nil),
            (302, "http://other/end", nil),
        ] as [(Int, String, String?)])
    func `takes the key along by which a repetition is known, where it repeats the method`(
        status: Int,
        location: String,
        key: String?
    ) async throws {
        let (engine, transport) = engine(status, to: location)
        let name = try #require(HTTPField.Name("Idempotency-Key"))
        var request = Request("http://h/start", method: .post, body: .json(1))
        request.headers[name] = "k"
        _ = try await engine.send(request)
        #expect(transport.requests.map { $0.headers[name] } == ["k", key])
    }

    @Test func `takes the engine's own credentials along to its own origin only`() async throws {
        for (location, keeps) in [("/end", true), ("http://other/end", false)] {
            let transport = StubTransport { request throws(TransportError) in
                request.url.hasSuffix("/start") ? .stub(status: 307, headers: [.location: location]) : .stub()
            }
            var configuration = Engine.Configuration(store: nil)
            configuration.transport = transport
            configuration.headers[.authorization] = "Bearer T"
            _ = try await Engine(configuration).send(Request("http://h/start"))
            #expect((transport.requests.last?.headers[.authorization] != nil) == keeps)
        }
    }

    @Test func `takes the URL's user info along to its own origin only`() async throws {
        for (location, keeps) in [("/end", true), ("http://other/end", false)] {
            let (engine, transport) = engine(302, to: location)
            _ = try await engine.send(Request("http://me:pw@h/start"))
            #expect((transport.requests.last?.headers[.authorization] == "Basic bWU6cHc=") == keeps)
        }
    }

    @Test func `that becomes a GET leaves what described the body behind`() async throws {
        let (engine, transport) = engine(303, to: "/end")
        var request = Request("http://h/start", method: .post, body: .json(1))
        request.headers[.contentLanguage] = "de"
        request.headers[.contentEncoding] = "gzip"
        _ = try await engine.send(request)
        #expect(transport.requests.last?.headers.contains { $0.name.canonicalName.hasPrefix("content-") } == false)
    }

    @Test(
        arguments: [
            (307, .post, "/end"), (308, .post, "https://other/end"), (301, .put, "/end"), (302, .patch, "/end"),
        ] as [(Int, HTTPRequest.Method, String)])
    func `takes a body of parts along, with a boundary of its own`(
        status: Int,
        method: HTTPRequest.Method,
        location: String
    ) async throws {
        let (engine, transport) = engine(status, to: location)
        let body = RequestBody.multipart([MultipartPart("a", "b")])
        let response = try await engine.send(Request("http://h/start", method: method, body: body))
        #expect(response.status == .ok && transport.requests.map(\.method) == [method, method])
        let types = transport.requests.compactMap { $0.headers[.contentType] }
        #expect(types.count == 2 && types.allSatisfy { $0.hasPrefix("multipart/form-data; boundary=") })
        #expect(Set(types).count == 2)
    }

    @Test func `without an end is an error`() async throws {
        let transport = StubTransport(status: 302, headers: [.location: "/again"])
        var configuration = Engine.Configuration(store: nil)
        configuration.transport = transport
        configuration.redirectLimit = 3
        let error = await #expect(throws: ConnectionError.self) {
            try await Engine(configuration).send(Request("http://h/"))
        }
        #expect(error?.code == .badResponse)
        #expect(transport.requests.count == 4)
    }

    @Test(arguments: [("ftp://h/x", 302), ("http://", 302)])
    func `that leads nowhere is the response`(location: String, status: Int) async throws {
        let (engine, _) = engine(status, to: location)
        #expect(try await engine.send(Request("http://h/start")).status.code == status)
    }

    @Test func `is the response where none are followed`() async throws {
        var configuration = Engine.Configuration(store: nil)
        configuration.transport = StubTransport(status: 302, headers: [.location: "/x"])
        configuration.redirectLimit = 0
        #expect(try await Engine(configuration).send(Request("http://h/")).status == .found)
    }
}
