import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("An engine that obeys HTTP alone", .limit(minutes: 5)) struct EngineHTTPRulesTests {
    private let temporary = TemporaryStore()
    private let clock = ManualClock()
    private let request = Request("http://h/")

    private func engine(
        _ transport: StubTransport,
        _ kind: CacheKind = .private,
        usesHTTPRules: Bool = true
    ) -> Engine {
        temporary.engine(transport, clock: clock) {
            $0.cacheKind = kind
            $0.identityPreset = usesHTTPRules ? .http : .selectingHeaders
        }
    }

    @Test(
        arguments: [
            ("max-age=10", nil, .private, true), ("max-age=10", 503, .private, false),
            ("max-age=10, must-revalidate", nil, .private, false), ("max-age=10, no-cache", nil, .private, false),
            ("max-age=10, proxy-revalidate", nil, .private, true), ("max-age=10", nil, .shared, true),
            ("max-age=10, proxy-revalidate", nil, .shared, false), ("s-maxage=10", nil, .shared, false),
            ("max-age=10, stale-if-error=60", 503, .private, true),
        ] as [(String, Int?, CacheKind, Bool)])
    func `serves a stale response when the server cannot be reached, unless that is forbidden`(
        control: String, status: Int?, kind: CacheKind, isServed: Bool
    ) async throws {
        let isDown = Guarded(false)
        let transport = StubTransport { _ throws(TransportError) in
            guard isDown.withLock({ $0 }) else { return .stub(headers: [.cacheControl: control]) }
            guard let status else { throw TransportError(.cannotConnect, "refused") }
            return .stub(status: status)
        }
        let engine = engine(transport, kind)
        _ = try await engine.send(request)
        isDown.withLock { $0 = true }
        clock.advance(by: 20)
        let response = try? await engine.send(request)
        #expect((response?.source == .stale) == isServed)
        #expect(isServed || response?.status.code == status)
        for control in ["no-cache", "max-age=5", "min-fresh=1"] {
            let limited = Request("http://h/", headers: [.cacheControl: control])
            if status == nil { await #expect(throws: ConnectionError.self) { try await engine.send(limited) } }
        }
        await engine.close()
    }

    @Test(
        arguments: [
            (404, [:], false), (404, [.cacheControl: "no-store"], false), (410, [.cacheControl: "no-store"], false),
            (410, [.vary: "*"], false), (301, [.cacheControl: "no-store"], false),
            (302, [.cacheControl: "no-store"], true), (401, [.cacheControl: "no-store"], true),
            (403, [.cacheControl: "no-store"], true), (503, [.cacheControl: "no-store"], true), (503, [:], true),
        ] as [(status: Int, headers: HTTPFields, isServed: Bool)], CacheKind.allCases)
    func `serves no stale response after the server's word that there is another or none`(
        answer: (status: Int, headers: HTTPFields, isServed: Bool), kind: CacheKind
    ) async throws {
        let isGone = Guarded(false)
        let transport = StubTransport { _ throws(TransportError) in
            isGone.withLock { $0 }
                ? .stub(status: answer.status, headers: answer.headers, body: "gone")
                : .stub(headers: [.cacheControl: "max-age=10", .eTag: "\"1\""], body: "old")
        }
        let engine = engine(transport, kind)
        _ = try await engine.send(request)
        clock.advance(by: 20)
        isGone.withLock { $0 = true }
        #expect(try await engine.send(request).status.code == answer.status)
        let stale = Request("http://h/", headers: [.cacheControl: "max-stale"])
        #expect((try await engine.send(stale).text == "old") == answer.isServed)
        await engine.close()
    }

    @Test func `serves no stale response without the HTTP rules when the server cannot be reached`() async throws {
        let isDown = Guarded(false)
        let transport = StubTransport { _ throws(TransportError) in
            if isDown.withLock({ $0 }) { throw TransportError(.cannotConnect, "refused") }
            return .stub(headers: [.cacheControl: "max-age=10"])
        }
        let engine = engine(transport, usesHTTPRules: false)
        _ = try await engine.send(request)
        isDown.withLock { $0 = true }
        clock.advance(by: 20)
        await #expect(throws: ConnectionError.self) { try await engine.send(request) }
        await engine.close()
    }
}

@Suite("RFC 9110 section 9.3.3", .limit(minutes: 5)) struct EnginePostTests {
    private let temporary = TemporaryStore()
    private let fresh: HTTPFields = [.cacheControl: "max-age=60", .contentLocation: "/a?b=c"]

    private func engine(
        _ headers: HTTPFields, status: Int = 200, isHTTP: Bool = true,
        change: (inout Engine.Configuration) -> Void = { _ in }
    ) -> Engine {
        let transport = StubTransport { request throws(TransportError) in
            .stub(
                status: request.method == .post ? status : 200,
                headers: request.method == .post ? headers : [.cacheControl: "max-age=60"],
                body: request.method.rawValue)
        }
        return temporary.engine(transport) {
            $0.identityPreset = isHTTP ? .http : .selectingHeaders
            change(&$0)
        }
    }

    private func post(_ change: (inout Request) -> Void = { _ in }) -> Request {
        var request = Request("http://h/a?b=c", method: .post, body: .bytes(Data("x".utf8), contentType: "text/plain"))
        change(&request)
        return request
    }

    @Test(
        arguments: [
            ([.cacheControl: "max-age=60", .contentLocation: "/a?b=c"], 200, true),
            ([.cacheControl: "max-age=60", .contentLocation: "http://h:80/a?b=c"], 201, true),
            ([.expires: "Fri, 31 Dec 2100 23:59:59 GMT", .contentLocation: "?b=c"], 200, true),
            ([.cacheControl: "max-age=60"], 200, false), ([.contentLocation: "/a?b=c"], 200, false),
            ([.cacheControl: "max-age=60", .contentLocation: "/a"], 200, false),
            ([.cacheControl: "max-age=60", .contentLocation: "http://other/a?b=c"], 200, false),
            ([.cacheControl: "max-age=60, no-store", .contentLocation: "/a?b=c"], 200, false),
            ([.lastModified: "Sun, 06 Nov 1994 08:49:37 GMT", .contentLocation: "/a?b=c"], 200, false),
        ] as [(HTTPFields, Int, Bool)])
    func `the response to a POST answers GET and HEAD of the URL that it names, while it is fresh`(
        headers: HTTPFields, status: Int, isStored: Bool
    ) async throws {
        let engine = engine(headers, status: status)
        _ = try await engine.send(Request("http://h/a?b=c"))
        let posted = try await engine.send(post())
        #expect(posted.cacheStatus?.isStored == isStored)
        let get = try await engine.send(Request("http://h/a?b=c"))
        #expect(get.text == (isStored ? "POST" : "GET") && (get.source == .cache) == isStored)
        #expect(get.status.code == (isStored ? status : 200))
        let head = try await engine.send(Request("http://h/a?b=c", method: .head))
        #expect(head.source == .cache && head.body.isEmpty)
        #expect(try await engine.send(post()).source == .network)
        await engine.close()
    }

    @Test func `a response is not stored where the request or the preset does not allow it`() async throws {
        let noStore = engine(fresh)
        _ = try await noStore.send(post { $0.cache = .noStore })
        _ = try await noStore.send(post { $0.headers[.cacheControl] = "no-store" })
        _ = try await noStore.send(post { $0.method = .put })
        #expect(try await noStore.send(Request("http://h/a?b=c")).source == .network)
        await noStore.close()
        let other = engine(fresh, isHTTP: false)
        _ = try await other.cache?.purge()
        _ = try await other.send(post())
        #expect(try await other.send(Request("http://h/a?b=c")).text == "GET")
        await other.close()
    }

    @Test(arguments: [true, false], CacheKind.allCases)
    func `a response is stored if the request asks for it, and is selected by its headers`(
        isAsked: Bool, kind: CacheKind
    ) async throws {
        let engine = engine(fresh, isHTTP: false) { $0.cacheKind = kind }
        let posted = try await engine.send(
            post {
                $0.cache.storesPost = isAsked
                $0.headers[.acceptLanguage] = "de"
            })
        #expect(posted.cacheStatus?.isStored == isAsked)
        let german = Request("http://h/a?b=c", headers: [.acceptLanguage: "de"])
        #expect(try await engine.send(german).text == (isAsked ? "POST" : "GET"))
        #expect(try await engine.send(Request("http://h/a?b=c", headers: [.acceptLanguage: "en"])).text == "GET")
        await engine.close()
    }

    @Test(
        arguments: [
            ("User-Agent", true, true), ("User-Agent", false, false), ("Content-Type", true, false), ("*", true, false),
        ] as [(String, Bool, Bool)])
    func `a response with Vary answers only the GETs that select it`(
        vary: String, isSameAgent: Bool, isServed: Bool
    ) async throws {
        let engine = engine(fresh + [HTTPField(name: .vary, value: vary)], isHTTP: false)
        _ = try await engine.send(
            post {
                $0.cache.storesPost = true
                $0.headers[.userAgent] = "one"
            })
        let get = Request("http://h/a?b=c", headers: [.userAgent: isSameAgent ? "one" : "two"])
        #expect(try await engine.send(get).text == (isServed ? "POST" : "GET"))
        await engine.close()
    }

    @Test func `a response to one user answers no GET of another user`() async throws {
        let engine = engine(fresh, isHTTP: false)
        for (identity, headers) in [("anna", [:]), (nil, [.authorization: "x"])] as [(String?, HTTPFields)] {
            _ = try await engine.send(
                post {
                    $0.cache.storesPost = true
                    $0.identity = identity
                    $0.headers = headers
                })
            var get = Request("http://h/a?b=c", headers: headers)
            get.identity = identity
            #expect(try await engine.send(get).text == "POST")
            get.identity = "ben"
            #expect(try await engine.send(get).text == "GET")
        }
        #expect(try await engine.send(Request("http://h/a?b=c")).text == "GET")
        await engine.close()
    }
}
