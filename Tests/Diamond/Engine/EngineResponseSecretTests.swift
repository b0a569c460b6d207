import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("Secrets in responses", .limit(minutes: 5)) struct EngineResponseSecretTests {
    private let temporary = TemporaryStore()
    private let clock = ManualClock()

    private func engine(_ headers: HTTPFields, status: Int = 200) -> Engine {
        let headers = headers + [HTTPField(name: .cacheControl, value: "max-age=3600")]
        let transport = StubTransport { request throws(TransportError) in
            .stub(status: request.headers[.ifNoneMatch] == nil ? status : 304, headers: HTTPFields(headers))
        }
        return temporary.engine(transport, clock: clock) { $0.redirectLimit = 0 }
    }

    private func expectNothingSecret() throws {
        #expect(try temporary.bytes().firstRange(of: Data("s3cret".utf8)) == nil)
    }

    @Test(
        arguments: [301, 302, 307, 308],
        [
            "http://u:s3cret@h/", "/x#access_token=s3cret", "/x?access_token=s3cret", "/x?code=s3cret", "?sig=s3cret",
            "https://b.s3.example.com/o?X-Amz-Credential=a&X-Amz-Signature=s3cret",
        ])
    func `an engine stores no redirect to a URL with a secret, and delivers it`(status: Int, location: String)
        async throws
    {
        let engine = engine([.location: location], status: status)
        for _ in 0..<2 {
            let response = try await engine.send(Request("http://h/a"))
            #expect(response.source == .network && response.headers[.location] == location)
        }
        await engine.cache?.flush()
        try expectNothingSecret()
        await engine.close()
    }

    @Test(arguments: [("Link", "</?page=2&token=s3cret>; rel=next"), ("Refresh", "1; url=/?api_key=s3cret")])
    func `an engine stores no response that names a URL with a secret`(name: String, value: String) async throws {
        let engine = engine(HTTPFields([try HTTPField(checking: name, value)]))
        for _ in 0..<2 { #expect(try await engine.send(Request("http://h/a")).source == .network) }
        await engine.cache?.flush()
        try expectNothingSecret()
        await engine.close()
    }

    @Test(arguments: [
        ("X-Auth-Token", "s3cret"), ("X-Api-Key", "s3cret"), ("Authentication-Info", "nextnonce=\"s3cret\""),
        ("Content-Location", "/x?access_token=s3cret"), ("X-Profile", "https://h/?token=s3cret"),
        ("X-Own", "s3cret"),
    ])
    func `an engine stores a response without its secret fields`(name: String, value: String) async throws {
        let field = try HTTPField(checking: name, value)
        let engine = engine(HTTPFields([field, HTTPField(name: .eTag, value: "\"1\"")]))
        var request = Request("http://h/a")
        request.rules.secrets = ["x-own"]
        #expect(try await engine.send(request).headers[field.name] == value)
        let stored = try await engine.send(request)
        #expect(stored.source == .cache && stored.headers[field.name] == nil && stored.headers[.eTag] == "\"1\"")
        // A confirmation does not add it either.
        clock.advance(by: 4000)
        #expect(try await engine.send(request).source == .revalidated)
        await engine.cache?.flush()
        try expectNothingSecret()
        await engine.close()
    }

    @Test func `an engine stores no named secret that a server repeats in a header`() async throws {
        let name = try #require(HTTPField.Name("X-Whatever"))
        let transport = StubTransport { request throws(TransportError) in
            .stub(headers: [.cacheControl: "max-age=3600", name: request.headers[name] ?? ""])
        }
        let engine = temporary.engine(transport, clock: clock) {
            $0.credentials = KnownSecrets(["token": "s3cret"], identity: "anna")
        }
        var request = Request("http://h/a")
        request.credentials = [.header(name, .secret("token"))]
        #expect(try await engine.send(request).headers[name] == "s3cret")
        #expect(try await engine.send(request).source == .cache)
        await engine.cache?.flush()
        try expectNothingSecret()
        await engine.close()
    }

    @Test func `an engine reveals no secret in a snapshot, an error or an event`() async throws {
        let transport = StubTransport { request throws(TransportError) in
            request.url == "http://h/a"
                ? .stub(status: 302, headers: [.location: "/b?access_token=s3cret"])
                : .stub(status: 404, headers: [.wwwAuthenticate: "Negotiate s3cret", .contentLocation: "/?sig=s3cret"])
        }
        let engine = temporary.engine(transport, clock: clock)
        let events = Guarded<[String]>([])
        let observation = engine.activity.observe { event in events.withLock { $0.append("\(event)") } }
        let connection = engine.start(Request("http://h/a"))
        let response = try await connection.response
        #expect(response.url == "http://h/b?access_token=s3cret")
        let snapshot = String(decoding: try connection.snapshot.json(), as: UTF8.self)
        #expect(snapshot.contains("/b") && !snapshot.contains("s3cret"))
        #expect(events.withLock { $0.count > 0 && $0.allSatisfy { !$0.contains("s3cret") } })
        withExtendedLifetime(observation) {}
        await engine.close()
    }
}
