import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A redirect") struct RedirectTests {
    /// Returns a transport that answers the first request with a redirect, all others with 200.
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
    ]) func `is resolved against the URL of its request`(location: String, url: String) async throws {
        let transport = StubTransport { request throws(TransportError) in
            request.url == "http://h/a/start?z=1" ? .stub(status: 307, headers: [.location: location]) : .stub()
        }
        var configuration = Engine.Configuration(store: nil)
        configuration.transport = transport
        _ = try await Engine(configuration).send(Request("http://h/a/start", parameters: ["z": 1]))
        #expect(transport.requests.last?.url == url)
    }

    @Test(arguments: [("/end", true), ("http://h:8080/end", false), ("https://h/end", false), ("http://i/end", false)])
    func `passes credentials to its own origin only`(location: String, keeps: Bool) async throws {
        let (engine, transport) = engine(307, to: location)
        var request = Request("http://h/start", headers: [.authorization: "s", .cookie: "s", .accept: "x"])
        request.headers.append(try HTTPField(checking: "X-API-Key", "s"))
        request.headers.append(try HTTPField(checking: "Host", "internal"))
        _ = try await engine.send(request)
        let headers = try #require(transport.requests.last?.headers)
        #expect((headers[.authorization] != nil) == keeps)
        #expect((headers[.cookie] != nil) == keeps)
        #expect(headers.contains { $0.name.canonicalName == "x-api-key" } == keeps)
        // `Host` names the server of the first request.
        #expect(headers.contains { $0.name.canonicalName == "host" } == keeps)
        #expect(headers[.accept] == "x")
    }

    @Test(
        arguments: [
            (307, "/end", "k"), (308, "https://h/end", "k"), (307, "http://other/end", "k"), (303, "/end", nil),
            (302, "http://other/end", nil),
        ] as [(Int, String, String?)])
    func `a redirect that repeats the method passes the idempotency key along`(
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

    @Test func `passes the engine's own credentials to its own origin only`() async throws {
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

    @Test func `passes the URL's user info to its own origin only`() async throws {
        for (location, keeps) in [("/end", true), ("http://other/end", false)] {
            let (engine, transport) = engine(302, to: location)
            _ = try await engine.send(Request("http://me:pw@h/start"))
            #expect((transport.requests.last?.headers[.authorization] == "Basic bWU6cHc=") == keeps)
        }
    }

    @Test func `a redirect that becomes a GET removes the fields that describe the body`() async throws {
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
    func `passes a multipart body along, with a boundary of its own`(
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

    @Test(
        arguments: [
            ("/a%20b c?x=%2F y", "http://h/a%20b%20c?x=%2F%20y"), ("/%7Ea%2f?%7e&&a;b=+&X-Sig=a%2bc%2F=", nil),
            (
                "https://cdn.example/k%c3%a9y?Policy=a~b_&Signature=x-y&a[]=1",
                "https://cdn.example/k%c3%a9y?Policy=a~b_&Signature=x-y&a[]=1"
            ),
        ] as [(String, String?)]) func `is followed byte for byte, and illegal characters are escaped`(
            location: String, url: String?
        ) async throws
    {
        let (engine, transport) = engine(302, to: location)
        let response = try await engine.send(Request("http://h/start"))
        #expect(transport.requests.last?.url == url ?? "http://h\(location)")
        #expect(response.url == transport.requests.last?.url)
    }

    /// Returns a transport that answers the first request with several `Location` fields, all others with 200.
    private func answer(_ locations: [String], _ events: Guarded<[String]>) async throws -> (
        Response, [TransportRequest]
    ) {
        let transport = StubTransport { request throws(TransportError) in
            let fields = HTTPFields(locations.map { HTTPField(name: .location, value: $0) })
            return request.url.hasSuffix("/start") ? .stub(status: 302, headers: fields) : .stub()
        }
        var configuration = Engine.Configuration(store: nil)
        configuration.transport = transport
        let engine = Engine(configuration)
        let observation = engine.activity.observe { event in
            if case .malformedRedirect(let reason) = event { events.withLock { $0.append(reason) } }
        }
        let response = try await engine.send(Request("http://h/start"))
        withExtendedLifetime(observation) {}
        return (response, transport.requests)
    }

    @Test(arguments: [
        (["/one", "/one"], true), (["/one", "/two"], false), (["/one", "/one", "http://h/one"], false),
    ])
    func `a redirect with several Location fields is followed where they are equal`(
        locations: [String], isFollowed: Bool
    ) async throws {
        let events = Guarded<[String]>([])
        let (response, requests) = try await answer(locations, events)
        #expect(response.status.code == (isFollowed ? 200 : 302))
        #expect(requests.map(\.url) == ["http://h/start"] + (isFollowed ? ["http://h/one"] : []))
        let told = events.withLock { $0 }
        #expect(told.count == (isFollowed ? 0 : 1) && told.allSatisfy { $0.contains("http://h answered with several") })
    }

    @Test(arguments: ["http://u:s3cret@i/x", "//u:s3cret@h/x", "http://s3cret@h:81/x"])
    func `is followed without its user info, and reported by an event`(location: String) async throws {
        let events = Guarded<[String]>([])
        let (response, requests) = try await answer([location], events)
        #expect(response.status == .ok && requests.count == 2)
        #expect(requests.last?.headers[.authorization] == nil)
        #expect(requests.last?.url.contains("@") == false)
        let told = events.withLock { $0 }
        #expect(told.count == 1 && told.allSatisfy { $0.contains("user info") && !$0.contains("s3cret") })
    }

    @Test func `a redirect with user info keeps the request's own credentials within its origin`() async throws {
        let (engine, transport) = engine(302, to: "http://other:pw@h/end")
        _ = try await engine.send(Request("http://me:pw@h/start"))
        #expect(transport.requests.map { $0.headers[.authorization] } == ["Basic bWU6cHc=", "Basic bWU6cHc="])
    }

    @Test(arguments: [307, 308]) func `passes JSON text along byte for byte`(status: Int) async throws {
        let (engine, transport) = engine(status, to: "/end")
        let text = "{ \"b\": 1.0, \"a\": 2 }"
        _ = try await engine.send(Request("http://h/start", method: .post, body: .json(text: text)))
        #expect(transport.requests.count == 2)
        for request in transport.requests {
            guard case .bytes(let data) = request.body else { return #expect(Bool(false)) }
            #expect(data == Data(text.utf8))
        }
    }

    @Test(arguments: [
        (["/stored%20x y"], true), (["http://u@h/stored%20x y"], true), (["/stored%20x y", "/stored%20x y"], true),
        (["/stored%20x y", "/else"], false), (["http://i/stored%20x y"], false),
    ]) func `a redirect of an unsafe method invalidates the URLs that it names`(locations: [String], isStale: Bool)
        async throws
    {
        let temporary = TemporaryStore()
        let transport = StubTransport { request throws(TransportError) in
            guard request.method == .get else {
                return .stub(status: 201, headers: HTTPFields(locations.map { HTTPField(name: .location, value: $0) }))
            }
            return .stub(headers: [.cacheControl: "max-age=60"])
        }
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.transport = transport
        let engine = Engine(configuration)
        let stored = Request("http://h/stored%20x%20y")
        _ = try await engine.send(stored)
        _ = try await engine.send(Request("http://h/", method: .post))
        #expect(try await engine.send(stored).source == (isStale ? .network : .cache))
        await engine.close()
    }

    @Test func `an endless redirect is an error`() async throws {
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
    func `a redirect without a usable target is returned as the response`(location: String, status: Int) async throws {
        let (engine, _) = engine(status, to: location)
        #expect(try await engine.send(Request("http://h/start")).status.code == status)
    }

    @Test func `is returned as the response if the redirect limit is 0`() async throws {
        var configuration = Engine.Configuration(store: nil)
        configuration.transport = StubTransport(status: 302, headers: [.location: "/x"])
        configuration.redirectLimit = 0
        #expect(try await Engine(configuration).send(Request("http://h/")).status == .found)
    }
}
