import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("RFC 9111 section 4.1", .limit(minutes: 5)) struct EngineVariantTests {
    private let temporary = TemporaryStore()

    /// A server whose responses vary by `X-Kind`, and say which kind they are of. It confirms them by their entity
    /// tags.
    private func server(vary: String = "X-Kind", lifetime: Int = 3600) -> StubTransport {
        StubTransport { request throws(TransportError) in
            let kind = request.headers[.kind] ?? "none"
            let headers: HTTPFields = [
                .cacheControl: "max-age=\(lifetime)", .vary: vary, .eTag: "\"\(kind)\"",
            ]
            guard EntityTagList(request.headers)?.matches(headers[.eTag]) != true else {
                return .stub(status: 304, headers: headers, body: "")
            }
            return .stub(headers: headers, body: kind)
        }
    }

    private func engine(
        _ transport: StubTransport,
        _ preset: IdentityPreset = .http,
        _ kind: CacheKind = .private,
        change: (inout Engine.Configuration) -> Void = { _ in }
    ) -> Engine {
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.transport = transport
        configuration.identityPreset = preset
        configuration.cacheKind = kind
        change(&configuration)
        return Engine(configuration)
    }

    private func request(_ kind: String?, _ url: String = "http://h/") -> Request {
        Request(url, headers: kind.map { [.kind: $0] } ?? [:])
    }

    @Test(arguments: CacheKind.allCases, [0, 32 << 20] as [Int])
    func `an engine stores variants of one URI, and selects among them by Vary, even after a restart`(
        kind: CacheKind, memoryCapacity: Int
    ) async throws {
        for run in 1...2 {
            let engine = engine(server(), .http, kind) { $0.memoryCapacity = memoryCapacity }
            for value in ["a", "b", nil, "c"] {
                let response = try await engine.send(request(value))
                #expect(response.source == (run == 1 ? .network : .cache))
                #expect(response.text == value ?? "none")
            }
            #expect(try await engine.send(request("b")).source == .cache)
            await engine.close()
        }
    }

    @Test func `an engine ignores request headers that Vary does not name`() async throws {
        let engine = engine(server())
        _ = try await engine.send(request("a"))
        var other = request("a")
        other.headers[.acceptLanguage] = "de"
        #expect(try await engine.send(other).source == .cache)
        await engine.close()
    }

    @Test func `an engine never reuses a response with Vary *`() async throws {
        let engine = engine(server(vary: "*"))
        for _ in 1...2 { #expect(try await engine.send(request("a")).source == .network) }
        await engine.close()
    }

    @Test func `an engine selects the most recent of the matching variants`() async throws {
        let count = Guarded(0)
        let transport = StubTransport { request throws(TransportError) in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return .stub(
                headers: [.cacheControl: "max-age=60", .vary: number == 1 ? "X-Kind" : "X-Other"], body: "\(number)")
        }
        let clock = Guarded(Date(timeIntervalSince1970: 1_000_000))
        let engine = engine(transport) { $0.now = { clock.withLock { $0 } } }
        _ = try await engine.send(request("a"))
        clock.withLock { $0 += 1 }
        _ = try await engine.send(request("b"))
        let response = try await engine.send(request("a"))
        #expect(response.source == .cache)
        #expect(response.text == "2")
        await engine.close()
    }

    @Test func `an engine validates the selected variant, and also sends the tags of the others`() async throws {
        let transport = server(lifetime: 0)
        let engine = engine(transport)
        for value in ["a", "b"] { _ = try await engine.send(request(value)) }
        for value in ["a", "b"] {
            let response = try await engine.send(request(value))
            #expect(response.source == .revalidated)
            #expect(response.text == value)
        }
        #expect(
            transport.requests.map { $0.headers[.ifNoneMatch] } == [nil, "\"a\"", "\"a\", \"b\"", "\"b\", \"a\""])
        await engine.close()
    }

    enum Removal: CaseIterable {
        case purgeKey, purgeURL, purgeAll, invalidateKey, invalidateURL, unsafeMethod, identity
    }

    @Test(arguments: Removal.allCases, [true, false])
    func `an engine removes or invalidates all variants of a request`(removal: Removal, isInMemory: Bool) async throws {
        let transport = server()
        let engine = engine(transport) { $0.memoryCapacity = isInMemory ? 32 << 20 : 0 }
        let cache = try #require(engine.cache)
        var requests = ["a", "b"].map { request($0) }
        for index in requests.indices { requests[index].identity = removal == .identity ? "anna" : nil }
        for request in requests { _ = try await engine.send(request) }
        switch removal {
        case .purgeKey: #expect(try await cache.purge(.key(engine.key(of: requests[0]))) > 0)
        case .purgeURL: #expect(try await cache.purge(.url("http://h/")) == 2)
        case .purgeAll: try await cache.purge()
        case .invalidateKey: #expect(try await cache.invalidate(.key(engine.key(of: requests[0]))) == 2)
        case .invalidateURL: try await cache.invalidate(.url("http://h/"))
        case .unsafeMethod: _ = try await engine.send(Request("http://h/", method: .delete))
        case .identity: try await engine.forget(identity: "anna")
        }
        for request in requests {
            let response = try await engine.send(request)
            #expect(response.source == .network || response.source == .revalidated)
            #expect(try await engine.send(request).source == .cache)
        }
        await engine.close()
    }

    @Test(arguments: CacheKind.allCases) func `private caches separate users by cookie`(kind: CacheKind) async throws {
        let transport = StubTransport { request throws(TransportError) in
            .stub(headers: [.cacheControl: "max-age=60, public"], body: request.headers[.cookie] ?? "")
        }
        let engine = engine(transport, .http, kind)
        _ = try await engine.send(Request("http://h/", headers: [.cookie: "s=1"]))
        let response = try await engine.send(Request("http://h/", headers: [.cookie: "s=2"]))
        #expect(response.source == (kind == .private ? .network : .cache))
        await engine.close()
    }

    @Test func `a shared cache never reuses a response for another identity`()
        async throws
    {
        let engine = engine(server(), .http, .shared)
        var request = request("a")
        for identity in ["anna", "ben"] {
            request.identity = identity
            #expect(try await engine.send(request).source == .network)
        }
        await engine.close()
    }

    @Test func `an engine stores no response that varies by a header that an interceptor has changed`() async throws {
        struct KindChange: Interceptor {
            func adapt(_ request: inout TransportRequest, attempt: Int) async throws {
                request.headers[.kind] = "other"
            }
        }
        let engine = engine(server()) { $0.interceptors = [KindChange()] }
        for _ in 1...2 { #expect(try await engine.send(request("a")).source == .network) }
        await engine.close()
    }

    @Test func `an engine replaces the variants by a newer response without Vary`() async throws {
        let varies = Guarded(true)
        let transport = StubTransport { request throws(TransportError) in
            let headers: HTTPFields = [.cacheControl: "max-age=60"]
            return .stub(
                headers: varies.withLock { $0 } ? headers + [HTTPField(name: .vary, value: "X-Kind")] : headers)
        }
        let engine = engine(transport)
        _ = try await engine.send(request("a"))
        varies.withLock { $0 = false }
        _ = try await engine.send(request("b"))
        for value in ["a", "b", "c"] { #expect(try await engine.send(request(value)).source == .cache) }
        await engine.close()
    }

    @Test func `an engine drops a response if a 304 changes its Vary`() async throws {
        let isFirst = Guarded(true)
        let transport = StubTransport { request throws(TransportError) in
            guard isFirst.withLock({ $0 }) else {
                return .stub(status: 304, headers: [.vary: "X-Kind", .cacheControl: "max-age=60"], body: "")
            }
            return .stub(headers: [.eTag: "\"1\"", .cacheControl: "max-age=0"])
        }
        let engine = engine(transport)
        _ = try await engine.send(request("a"))
        isFirst.withLock { $0 = false }
        #expect(try await engine.send(request("a")).source == .revalidated)
        isFirst.withLock { $0 = true }
        #expect(try await engine.send(request("b")).source == .network)
        await engine.close()
    }

    @Test func `an engine stores a large body as a variant while it is received`() async throws {
        let body = String(repeating: "x", count: 3 << 20)
        let transport = StubTransport { request throws(TransportError) in
            .stub(
                headers: [
                    .cacheControl: "max-age=60", .vary: "X-Kind", .eTag: "\"1\"", .contentLength: "\(body.utf8.count)",
                ], body: body)
        }
        for source in [Response.Source.network, .cache] {
            let engine = engine(transport)
            let response = try await engine.send(request("a"))
            #expect(response.source == source)
            #expect(response.body.count == body.utf8.count)
            await engine.close()
        }
    }
}

extension HTTPField.Name {
    fileprivate static let kind = HTTPField.Name("X-Kind") ?? .cookie
}
