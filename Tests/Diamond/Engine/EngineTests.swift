import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("An engine", .limit(minutes: 5)) struct EngineTests {
    let temporary = TemporaryStore()
    let clock = ManualClock()

    private func date() -> String { HTTPDate.text(of: clock.wallTime) }

    @Test func `sends to the network once, then answers from the cache until the entry is stale`()
        async throws
    {
        let transport = StubTransport(headers: [.cacheControl: "max-age=60"])
        let engine = temporary.engine(transport, clock: clock)
        let request = Request("http://h/?a=1", parameters: ["b": 2])
        #expect(try await engine.send(request).source == .network)
        clock.advance(by: 59)
        let hit = try await engine.send(Request("http://h/?b=2", parameters: ["a": 1]))
        #expect(hit.source == .cache)
        #expect(hit.text == "body")
        #expect(hit.headers[.age] == "59")
        clock.advance(by: 2)
        #expect(try await engine.send(request).source == .network)
        #expect(transport.requests.count == 2)
    }

    @Test func `finds its stored responses after a restart`() async throws {
        let transport = StubTransport(headers: [.cacheControl: "max-age=60"])
        let first = temporary.engine(transport, clock: clock)
        _ = try await first.send(Request("http://h/"))
        await first.close()
        let second = temporary.engine(transport, clock: clock)
        #expect(try await second.send(Request("http://h/")).source == .cache)
        #expect(transport.requests.count == 1)
    }

    @Test func `validates a stale entry with both validators, and uses the new freshness`() async throws {
        let modified = date()
        let transport = StubTransport { request throws(TransportError) in
            request.headers[.ifNoneMatch] == "\"1\"" && request.headers[.ifModifiedSince] == modified
                ? .stub(status: 304, headers: [.cacheControl: "max-age=60"], body: "")
                : .stub(headers: [.eTag: "\"1\"", .lastModified: modified])
        }
        let engine = temporary.engine(transport, clock: clock)
        _ = try await engine.send(Request("http://h/"))
        let confirmed = try await engine.send(Request("http://h/"))
        #expect(confirmed.source == .revalidated)
        #expect(confirmed.status == .ok)
        #expect(confirmed.text == "body")
        clock.advance(by: 30)
        #expect(try await engine.send(Request("http://h/")).source == .cache)
        #expect(transport.requests.count == 2)
    }

    @Test func `does not accept a 304 for another representation`() async throws {
        let asked = Guarded(0)
        let transport = StubTransport { request throws(TransportError) in
            let number = asked.withLock { number in
                number += 1
                return number
            }
            guard request.headers[.ifNoneMatch] != nil else {
                return .stub(headers: [.eTag: "\"\(number)\""], body: "\(number)")
            }
            return .stub(status: 304, headers: [.eTag: "\"other\""], body: "")
        }
        let engine = temporary.engine(transport, clock: clock)
        _ = try await engine.send(Request("http://h/"))
        let second = try await engine.send(Request("http://h/"))
        #expect(second.source == .network && second.text == "3")
        #expect(transport.requests.map { $0.headers[.ifNoneMatch] } == [nil, "\"1\"", nil])
        #expect(try await engine.send(Request("http://h/", cache: .cacheOnly)).headers[.eTag] == "\"3\"")
    }

    @Test func `does not accept a 304 for an older representation`() async throws {
        let dates = [date(), HTTPDate.text(of: clock.wallTime - 86_400_000)]
        let isBack = Guarded(false)
        let transport = StubTransport { request throws(TransportError) in
            let number = isBack.withLock { $0 } ? 1 : 0
            let isConditional = request.headers.contains(.ifModifiedSince)
            return .stub(
                status: isConditional ? 304 : 200, headers: [.lastModified: dates[number]],
                body: isConditional ? "" : "\(number)")
        }
        let engine = temporary.engine(transport, clock: clock)
        _ = try await engine.send(Request("http://h/"))
        #expect(try await engine.send(Request("http://h/")).source == .revalidated)
        isBack.withLock { $0 = true }
        let back = try await engine.send(Request("http://h/"))
        #expect(back.source == .network && back.text == "1")
        #expect(transport.requests.map { $0.headers[.ifModifiedSince] } == [nil, dates[0], dates[0], nil])
        #expect(try await engine.send(Request("http://h/", cache: .revalidate)).source == .revalidated)
    }

    @Test func `replaces an entry that the server has changed`() async throws {
        let count = Guarded(0)
        let transport = StubTransport { _ throws(TransportError) in
            let number = count.withLock { number in
                number += 1
                return number
            }
            return .stub(headers: [.eTag: "\"\(number)\""], body: "\(number)")
        }
        let engine = temporary.engine(transport, clock: clock)
        _ = try await engine.send(Request("http://h/"))
        let changed = try await engine.send(Request("http://h/"))
        #expect(changed.source == .network && changed.text == "2")
        #expect(transport.requests.last?.headers[.ifNoneMatch] == "\"1\"")
        #expect(try await engine.send(Request("http://h/", cache: .cacheOnly)).text == "2")
    }

    @Test func `uses the app's maxAge where the server sets none`() async throws {
        let transport = StubTransport()
        let engine = temporary.engine(transport, clock: clock)
        let request = Request("http://h/", cache: .automatic(maxAge: .seconds(10)))
        _ = try await engine.send(request)
        clock.advance(by: 9)
        #expect(try await engine.send(request).source == .cache)
        clock.advance(by: 1)
        #expect(try await engine.send(request).source == .network)
    }

    @Test func `does not apply the app's maxAge to an error status`() async throws {
        let engine = temporary.engine(StubTransport(status: 404), clock: clock)
        let request = Request("http://h/", cache: .automatic(maxAge: .seconds(60)))
        _ = try await engine.send(request)
        #expect(try await engine.send(request).source == .network)
    }

    @Test func `purges the entry of a request`() async throws {
        let engine = temporary.engine(StubTransport(headers: [.cacheControl: "max-age=60"]), clock: clock)
        _ = try await engine.send(Request("http://h/?a=1&b=2"))
        let (one, other) = (Request("http://h/?a=1&b=2"), Request("http://h/?b=2&a=1"))
        #expect(try await engine.key(of: one) == engine.key(of: other))
        #expect(try await engine.purge(Request("http://h/?b=2&a=1")))
        #expect(try await !engine.purge(Request("http://h/?b=2&a=1")))
        #expect(try await engine.send(Request("http://h/?a=1&b=2")).source == .network)
    }

    @Test func `requests an invalidated entry again, with its stored validator`() async throws {
        let transport = StubTransport { request in
            guard request.headers[.ifNoneMatch] == nil else { return .stub(status: 304, headers: [.eTag: "\"a\""]) }
            return .stub(headers: [.cacheControl: "max-age=60", .eTag: "\"a\""])
        }
        let engine = temporary.engine(transport, clock: clock)
        _ = try await engine.send(Request("http://h/?a=1&b=2"))
        #expect(try await engine.invalidate(Request("http://h/?b=2&a=1")))
        #expect(try await !engine.invalidate(Request("http://h/?b=2&a=1")))
        #expect(try await engine.send(Request("http://h/?a=1&b=2")).source == .revalidated)
        #expect(try await !engine.invalidate(Request("http://h/other")))
    }

    @Test func `does not validate the type of a response without a body`() async throws {
        let transport = StubTransport()
        var configuration = Engine.Configuration(testing: transport)
        configuration.headers = [.contentType: "application/vnd.api+json"]
        let engine = Engine(configuration)
        let multipart = RequestBody.multipart([MultipartPart("a", "b")])
        let bodies: [RequestBody] = [
            .json(1), .form(["a": 1]), multipart, .bytes(Data([1]), contentType: "image/png"), .bytes(Data([1])),
        ]
        for body in bodies { _ = try await engine.send(Request("http://h/", method: .post, body: body)) }
        let types = transport.requests.map { $0.headers[.contentType]?.prefix { $0 != ";" } }
        #expect(
            types == [
                "application/vnd.api+json", "application/x-www-form-urlencoded", "multipart/form-data", "image/png",
                "application/vnd.api+json",
            ])
        await engine.close()
    }

    @Test func `stores no response that the server or the request forbids`() async throws {
        let cases: [(HTTPFields, Request)] = [
            ([.cacheControl: "no-store"], Request("http://h/1")),
            ([.cacheControl: "max-age=60"], Request("http://h/2", cache: .noStore)),
            ([.cacheControl: "max-age=60"], Request("http://h/3", headers: [.cacheControl: "no-store"])),
            ([.cacheControl: "max-age=60"], Request("http://h/4", headers: [.ifMatch: "\"a\""])),
            ([.cacheControl: "max-age=60"], Request("http://h/5", method: .post)),
        ]
        for (headers, request) in cases {
            let engine = temporary.engine(StubTransport(headers: headers), clock: clock)
            _ = try await engine.send(request)
            await engine.close()
        }
        #expect(try Cache(temporary.store).totals().entries == 0)
    }

    private static let forbidding: [HTTPFields] = [[.cacheControl: "no-store"], [.vary: "*"]]

    /// Answers once with a response that may be stored, and then with the given one.
    private func changing(status: Int = 200, _ headers: HTTPFields) -> StubTransport {
        let count = Guarded(0)
        return StubTransport { _ throws(TransportError) in
            let isFirst = count.withLock { count in
                count += 1
                return count == 1
            }
            guard !isFirst else { return .stub(headers: [.cacheControl: "max-age=60"], body: "old") }
            return .stub(status: status, headers: headers, body: "new")
        }
    }

    @Test(arguments: [CachePolicy.reload, .revalidate, .staleWhileRevalidate], forbidding)
    func `removes an entry where a newer response may not be stored`(policy: CachePolicy, headers: HTTPFields)
        async throws
    {
        let engine = temporary.engine(changing(headers), clock: clock)
        _ = try await engine.send(Request("http://h/"))
        if policy == .staleWhileRevalidate { clock.advance(by: 61) }
        _ = try await engine.send(Request("http://h/", cache: policy))
        await engine.waitForRefreshes()
        #expect(try await engine.send(Request("http://h/", cache: .cacheOnly)).source == .generated)
        await engine.cache?.flush()
        #expect(try engine.cache?.count(.all) == 0)
    }

    private static let reloads: [Reload] = [
        (.get, 503, .reload), (.get, 201, .reload), (.get, 202, .reload), (.get, 205, .reload), (.head, 200, .reload),
        (.get, 200, .noStore),
    ]

    @Test(arguments: reloads, [forbidding[0], HTTPFields()])
    func `leaves an entry that a newer response does not replace`(reload: Reload, headers: HTTPFields)
        async throws
    {
        let engine = temporary.engine(changing(status: reload.status, headers), clock: clock)
        _ = try await engine.send(Request("http://h/"))
        _ = try await engine.send(Request("http://h/", method: reload.method, cache: reload.policy))
        let stored = try await engine.send(Request("http://h/"))
        #expect(stored.source == .cache && stored.text == "old")
    }

    typealias Reload = (method: HTTPRequest.Method, status: Int, policy: CachePolicy)

    @Test func `answers a HEAD from a stored GET, without its body`() async throws {
        let transport = StubTransport(headers: [.cacheControl: "max-age=60"])
        let engine = temporary.engine(transport, clock: clock)
        _ = try await engine.send(Request("http://h/"))
        let head = try await engine.send(Request("http://h/", method: .head))
        #expect(head.source == .cache && head.body.isEmpty)
    }

    @Test func `does not use a HEAD's response for a GET`() async throws {
        let engine = temporary.engine(StubTransport(headers: [.cacheControl: "max-age=60"]), clock: clock)
        _ = try await engine.send(Request("http://h/", method: .head))
        #expect(try await engine.send(Request("http://h/")).source == .network)
    }

    @Test func `answers 504 if only the cache may answer and no response is stored`() async throws {
        let transport = StubTransport()
        let engine = temporary.engine(transport, clock: clock)
        let nothing = try await engine.send(Request("http://h/", cache: .cacheOnly))
        #expect(nothing.status == .gatewayTimeout && nothing.source == .generated)
        let header = Request("http://h/", headers: [.cacheControl: "only-if-cached"])
        #expect(try await engine.send(header).status == .gatewayTimeout)
        #expect(transport.requests.isEmpty)
    }

    @Test(arguments: [
        Request("http://h/", cache: .cacheOnly), Request("http://h/", headers: [.cacheControl: "only-if-cached"]),
    ])
    func `fails a typed call with notStored if nothing is stored`(request: Request) async throws {
        let engine = temporary.engine(StubTransport(), clock: clock)
        let error = await #expect(throws: ConnectionError.self) {
            _ = try await engine.send(request.decoding([Int].self))
        }
        #expect(error?.code == .notStored && error?.response?.source == .generated)
        #expect(error?.message.contains("is stored") == true)
    }

    @Test(arguments: [503, nil] as [Int?])
    func `falls back to the cache when the network fails, where the policy allows it`(status: Int?)
        async throws
    {
        let isDown = Guarded(false)
        let transport = StubTransport { _ throws(TransportError) in
            guard isDown.withLock({ $0 }) else { return .stub(headers: [.cacheControl: "max-age=1"]) }
            guard let status else { throw TransportError(.cannotConnect, "refused") }
            return .stub(status: status)
        }
        let engine = temporary.engine(transport, clock: clock)
        _ = try await engine.send(Request("http://h/"))
        isDown.withLock { $0 = true }
        clock.advance(by: 60)
        let fallback = try await engine.send(Request("http://h/", cache: .networkElseCache))
        #expect(fallback.source == .stale && fallback.text == "body")
        let automatic = try? await engine.send(Request("http://h/"))
        #expect(automatic?.status.code == status)
    }

    @Test func `reports a fresh stored response as fresh even if it replaces an error`() async throws {
        let isDown = Guarded(false)
        let transport = StubTransport { _ in
            isDown.withLock { $0 } ? .stub(status: 503) : .stub(headers: [.cacheControl: "max-age=60"])
        }
        let engine = temporary.engine(transport, clock: clock)
        let request = Request("http://h/", cache: .networkElseCache)
        _ = try await engine.send(request)
        isDown.withLock { $0 = true }
        #expect(try await engine.send(request).source == .cache)
        clock.advance(by: 61)
        #expect(try await engine.send(request).source == .stale)
    }

    @Test func `does not fall back to an entry that must be revalidated`() async throws {
        let isDown = Guarded(false)
        let transport = StubTransport { _ throws(TransportError) in
            guard isDown.withLock({ $0 }) else { return .stub(headers: [.cacheControl: "max-age=1, must-revalidate"]) }
            return .stub(status: 503)
        }
        let engine = temporary.engine(transport, clock: clock)
        _ = try await engine.send(Request("http://h/"))
        isDown.withLock { $0 = true }
        clock.advance(by: 60)
        #expect(try await engine.send(Request("http://h/", cache: .networkElseCache)).status == .serviceUnavailable)
    }

    @Test func `does not treat an entry from the future as fresh`() async throws {
        let engine = temporary.engine(StubTransport(headers: [.cacheControl: "max-age=60"]), clock: clock)
        _ = try await engine.send(Request("http://h/"))
        clock.advance(by: -86400)
        #expect(try await engine.send(Request("http://h/")).source == .network)
    }

    @Test func `never uses the network if only the cache may answer`() async throws {
        let transport = StubTransport()
        let engine = temporary.engine(transport, clock: clock)
        for headers in [[.range: "bytes=0-1"], [.cacheControl: "no-store, only-if-cached"]] as [HTTPFields] {
            let request = Request("http://h/", headers: headers, cache: .cacheOnly)
            #expect(try await engine.send(request).source == .generated)
        }
        #expect(try await engine.send(Request("http://h/", method: .post, cache: .cacheOnly)).source == .generated)
        #expect(transport.requests.isEmpty)
    }

    @Test func `serves a stale entry and revalidates it afterwards`() async throws {
        let count = Guarded(0)
        let transport = StubTransport { _ throws(TransportError) in
            .stub(headers: [.cacheControl: "max-age=1"], body: "\(count.withLock { $0 += 1; return $0 })")
        }
        let engine = temporary.engine(transport, clock: clock)
        let request = Request("http://h/", cache: .staleWhileRevalidate)
        _ = try await engine.send(request)
        clock.advance(by: 5)
        let stale = try await engine.send(request)
        #expect(stale.source == .stale && stale.text == "1")
        await engine.waitForRefreshes()
        #expect(try await engine.send(Request("http://h/", cache: .cacheOnly)).text == "2")
    }

    @Test func `waits no longer for revalidations when the waiting task is canceled`() async throws {
        let engine = temporary.engine(StubTransport(headers: [.cacheControl: "max-age=1"]), clock: clock)
        let request = Request("http://h/", cache: .staleWhileRevalidate)
        _ = try await engine.send(request)
        clock.advance(by: 5)
        engine.lanes.pauseAll()
        #expect(try await engine.send(request).source == .stale)
        let settling = Task { await engine.waitForRefreshes() }
        settling.cancel()
        await settling.value
        #expect(engine.activity.counts.refreshing == 1)
        engine.lanes.resumeAll()
        await engine.waitForRefreshes()
        #expect(engine.activity.counts.refreshing == 0)
    }

    @Test func `separates users, in memory and on disk`() async throws {
        let transport = StubTransport { request throws(TransportError) in
            .stub(headers: [.cacheControl: "max-age=60"], body: request.headers[.authorization] ?? request.url)
        }
        for round in 0..<2 {
            let engine = temporary.engine(transport, clock: clock)
            for user in ["Bearer alice", "Bearer bob"] {
                let response = try await engine.send(Request("http://h/", headers: [.authorization: user]))
                #expect(response.text == user)
                #expect(response.source == (round == 0 ? .network : .cache))
            }
            await engine.close()
        }
    }

    @Test func `leaves no secret on disk`() async throws {
        let transport = StubTransport(headers: [.cacheControl: "max-age=60", .setCookie: "sid=s3cret"])
        let engine = temporary.engine(transport, clock: clock)
        var request = Request("http://me:s3cret@h/?access_token=s3cret", parameters: ["password": "s3cret"])
        request.headers = [.authorization: "Bearer s3cret", .cookie: "sid=s3cret"]
        _ = try await engine.send(request)
        await engine.close()
        #expect(try await temporary.engine(transport, clock: clock).send(request).source == .cache)
        #expect(try temporary.bytes().range(of: Data("s3cret".utf8)) == nil)
        #expect(try temporary.bytes().range(of: Data("http://h/".utf8)) != nil)
    }

    @Test func `sends user info as basic credentials, and its own headers where the request has none`()
        async throws
    {
        let transport = StubTransport()
        let engine = temporary.engine(transport, clock: clock)
        _ = try await engine.send(Request("http://me:p%40ss@h/"))
        let sent = try #require(transport.requests.first)
        #expect(sent.url == "http://h/")
        #expect(sent.headers[.authorization] == "Basic bWU6cEBzcw==")
        #expect(sent.headers[.userAgent] == "Diamond")
    }

    @Test func `counts requests on the wire, and ends at zero`() async throws {
        let checkpoint = Checkpoint()
        let transport = StubTransport { _ async throws(TransportError) in
            await checkpoint.pass()
            throw TransportError(.connectionLost, "lost")
        }
        let engine = temporary.engine(transport, clock: clock)
        let task = Task { try await engine.send(Request("http://h/")) }
        await checkpoint.reached()
        #expect(engine.activity.counts.inFlight == 1)
        checkpoint.open()
        await #expect(throws: ConnectionError.self) { try await task.value }
        #expect(engine.activity.counts.inFlight == 0)
    }

    @Test func `cancels requests of a key, however they were written, and no others`() async throws {
        let engine = temporary.engine(StubTransport.silent(), clock: clock)
        let request = Request("http://h/a", parameters: ["b": 1, "c": 2])
        let same = [request, Request("http://h/a?c=2&b=1")].map { engine.start($0) }
        let other = engine.start(Request("http://h/b"))
        let key = try await engine.key(of: request)
        #expect(await engine.cancel(key) == 2)
        await untilTrue { same.allSatisfy(\.isFinished) }
        #expect(!other.isFinished)
        await engine.close()
    }

    @Test func `cancels by key even while its provider delays another request's identity`() async throws {
        /// Returns no identity, and does not answer for one request.
        struct HangingProvider: CredentialProvider {
            let gate: Gate

            func secret(_ name: String, for identity: String?) async throws -> String? { nil }

            func identity(for request: Request) async throws -> String? {
                if request.url.hasSuffix("slow") { await gate.wait() }
                return nil
            }
        }
        let gate = Gate()
        var configuration = Engine.Configuration(testing: StubTransport.silent())
        configuration.credentials = HangingProvider(gate: gate)
        let engine = Engine(configuration)
        let slow = engine.start(Request("http://h/slow"))
        let connection = engine.start(Request("http://h/a"))
        let key = try await engine.key(of: connection.request)
        let canceling = Task { await engine.cancel(key) }
        await untilTrue { connection.isFinished }
        #expect(!slow.isFinished)
        gate.open()
        #expect(await canceling.value == 1)
        await engine.close()
    }

    @Test func `refuses a malformed request with the place and the remedy`() async {
        let engine = temporary.engine(StubTransport(), clock: clock)
        let error = await #expect(throws: ConnectionError.self) { try await engine.send(Request("http://h/%zz")) }
        #expect(error?.code == .badRequest)
        #expect(error?.cause is RequestError)
    }
}
