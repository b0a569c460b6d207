import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

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
