import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite(.timeLimit(.minutes(5))) struct `An observed query` {
    private let server = VersionServer()
    private let temporary = TemporaryStore()
    private let clock = TestClock()
    private let reachability = StubReachability()
    private let transport: StubTransport

    private struct Version: Endpoint {
        typealias Output = Int
        var request: Request { `An observed query`.cities }
    }

    fileprivate static var cities: Request {
        var request = Request("http://h/cities")
        request.tags = ["cities"]
        return request
    }

    init() { transport = server.transport }

    private func engine(
        store: TemporaryStore? = nil, _ change: (inout Engine.Configuration) -> Void = { _ in }
    ) -> Engine {
        var configuration = Engine.Configuration(testing: transport, clock: clock, store: store ?? temporary)
        configuration.reachability = reachability
        change(&configuration)
        return Engine(configuration)
    }

    private func storeless() -> Engine {
        var configuration = Engine.Configuration(testing: transport, clock: clock)
        configuration.reachability = reachability
        return Engine(configuration)
    }

    private func mutation(_ tags: Set<String> = ["cities"]) -> Request {
        var request = Request("http://h/orders", method: .post)
        request.invalidates = tags
        return request
    }

    // MARK: Values

    @Test func `a query gives what is stored, then what the server has`() async throws {
        let engine = engine()
        _ = try await engine.send(Self.cities)
        clock.advance(by: .seconds(61))
        server.version = 2
        server.gate.close()
        let recorder = QueryRecorder(engine.updates(Self.cities))
        await recorder.untilLast { $0.version == 1 && $0.isFetching && $0.source == .stale }
        #expect(recorder.last?.date == clock.date - 61)
        server.gate.open()
        await recorder.untilLast { $0.version == 2 && !$0.isFetching && $0.source == .network }
        #expect(recorder.last?.date == clock.date && recorder.last?.error == nil)
        #expect(recorder.states.allSatisfy { $0.value != nil })
    }

    @Test func `a query whose stored value is fresh sends nothing`() async throws {
        let engine = engine()
        _ = try await engine.send(Self.cities)
        let recorder = QueryRecorder(engine.updates(Version()))
        await recorder.untilLast { $0.value == 1 && !$0.isFetching && $0.source == .cache }
        #expect(recorder.states.count == 1 && transport.requests.count == 1)
    }

    @Test func `a query without a stored value says that it fetches one`() async {
        server.gate.close()
        let engine = engine()
        let recorder = QueryRecorder(engine.updates(Version()))
        await recorder.untilLast { $0.value == nil && $0.isFetching }
        server.gate.open()
        await recorder.untilLast { $0.value == 1 && !$0.isFetching }
    }

    @Test func `an error status and an undecodable body leave the last value beside the error`() async throws {
        let engine = engine()
        let recorder = QueryRecorder(engine.updates(Version()))
        await recorder.untilLast { $0.value == 1 && !$0.isFetching }
        server.status = 500
        try await engine.invalidate(.tag("cities"))
        await recorder.untilLast { $0.error?.code == .badStatus && $0.value == 1 && !$0.isFetching }
        (server.status, server.headers) = (200, [.cacheControl: "max-age=60", .contentType: "application/json"])
        try await engine.invalidate(Self.cities)
        await recorder.untilLast { $0.error == nil && $0.value == 1 && !$0.isFetching }
    }

    @Test(arguments: [HTTPRequest.Method.post, .put, .delete, .patch])
    func `a request with an unsafe method is not sent, but the error of its query`(method: HTTPRequest.Method) async {
        let engine = engine()
        let recorder = QueryRecorder(engine.updates(Request("http://h/cities", method: method)))
        await recorder.untilLast { $0.error?.code == .badRequest && $0.value == nil }
        #expect(transport.requests.isEmpty)
    }

    @Test func `a query of the cache alone ends its look without a value`() async {
        var request = Self.cities
        request.cache = .cacheOnly
        let engine = engine()
        let recorder = QueryRecorder(engine.updates(request))
        await recorder.untilLast { $0.value == nil && $0.error == nil && !$0.isFetching }
        #expect(transport.requests.isEmpty)
    }

    // MARK: Invalidation

    enum Outdating: CaseIterable {
        case tag, request, key, purge, purgeAll, cacheTag, cachePurge, predicate, mutation, sameURL
    }

    @Test(arguments: Outdating.allCases, [true, false])
    func `a query that is made stale is fetched once more`(by outdating: Outdating, hasStore: Bool) async throws {
        let engine = hasStore ? engine() : storeless()
        let recorder = QueryRecorder(engine.updates(Self.cities))
        await recorder.untilLast { $0.version == 1 && !$0.isFetching }
        await engine.cache?.flush()
        server.version = 7
        let isOfCache = [.cacheTag, .cachePurge, .predicate].contains(outdating)
        guard hasStore || !isOfCache else { return }
        try await outdate(outdating, engine)
        let version = [.mutation, .sameURL].contains(outdating) ? 8 : 7
        await recorder.untilLast { $0.version == version && !$0.isFetching }
        #expect(transport.requests.count { $0.method == .get } == 2)
    }

    private func outdate(_ outdating: Outdating, _ engine: Engine) async throws {
        switch outdating {
        case .tag: try await engine.invalidate(.tag("cities"))
        case .request: try await engine.invalidate(Self.cities)
        case .key: try await engine.invalidate(.key(engine.key(of: Self.cities)))
        case .purge: try await engine.purge(Self.cities)
        case .purgeAll: try await engine.purge(.all)
        case .cacheTag: try await engine.cache?.invalidate(.tag("cities"))
        case .cachePurge: try await engine.cache?.purge(.host("h"))
        case .predicate: try await engine.cache?.invalidate { $0.url == "http://h/cities" }
        case .mutation: _ = try await engine.send(mutation(["cities", "others"]))
        case .sameURL:
            var request = mutation()
            request.url = "http://h/cities"
            _ = try await engine.send(request)
        }
    }

    @Test func `a query is not fetched for what concerns other requests`() async throws {
        let engine = engine()
        let recorder = QueryRecorder(engine.updates(Self.cities))
        await recorder.untilLast { $0.version == 1 && !$0.isFetching }
        try await engine.invalidate(.tag("towns"))
        try await engine.purge(.host("other"))
        _ = try await engine.send(mutation(["towns"]))
        // A later fetch shows that none was due before.
        try await engine.invalidate(.tag("cities"))
        await recorder.untilLast { $0.version == 2 && !$0.isFetching }
        #expect(transport.requests.count { $0.method == .get } == 2)
    }

    @Test func `a query that is invalidated during its fetch is fetched again`() async throws {
        let engine = engine()
        server.gate.close()
        let recorder = QueryRecorder(engine.updates(Self.cities))
        await untilTrue { transport.requests.count == 1 }
        server.version = 2
        try await engine.invalidate(.tag("cities"))
        server.gate.open()
        await recorder.untilLast { $0.version == 2 && !$0.isFetching }
        #expect(transport.requests.count == 2)
    }

    // MARK: Observers

    @Test func `observers of one query share its fetches, and a late one gets the current state`() async throws {
        let engine = engine()
        let recorders = [QueryRecorder(engine.updates(Self.cities)), QueryRecorder(engine.updates(Self.cities))]
        for recorder in recorders { await recorder.untilLast { $0.version == 1 && !$0.isFetching } }
        let late = QueryRecorder(engine.updates(Self.cities))
        await late.untilLast { $0.version == 1 }
        server.version = 2
        try await engine.invalidate(.tag("cities"))
        for recorder in recorders + [late] { await recorder.untilLast { $0.version == 2 && !$0.isFetching } }
        #expect(transport.requests.count == 2)
    }

    @Test func `a slow observer gets the newest state`() async throws {
        let engine = engine()
        let recorder = QueryRecorder(engine.updates(Self.cities))
        await recorder.untilLast { $0.version == 1 && !$0.isFetching }
        var slow = engine.updates(Self.cities).makeAsyncIterator()
        #expect(await slow.next(isolation: nil)?.version == 1)
        for version in 2...5 {
            server.version = version
            try await engine.invalidate(.tag("cities"))
            await recorder.untilLast { $0.version == version && !$0.isFetching }
        }
        #expect(await slow.next(isolation: nil)?.version == 5)
    }

    @Test func `a query without observers runs nothing`() async throws {
        let engine = engine()
        let updates = engine.updates(Self.cities, every: .seconds(10))
        #expect(!engine.queries.isObserved && clock.sleeping.isEmpty && transport.requests.isEmpty)
        let recorders = [QueryRecorder(updates), QueryRecorder(updates)]
        for recorder in recorders { await recorder.untilLast { $0.version == 1 && !$0.isFetching } }
        await untilTrue { clock.sleeping == [QueryWatch.pollInterval, .seconds(10)] }
        recorders[0].cancel()
        await untilTrue { recorders[0].hasEnded }
        #expect(engine.queries.isObserved)
        recorders[1].cancel()
        await untilTrue { recorders[1].hasEnded && clock.sleeping.isEmpty }
        #expect(!engine.queries.isObserved)
        // It begins again with the next observer.
        let last = QueryRecorder(updates)
        await last.untilLast { $0.version == 1 && $0.source == .cache }
    }

    @Test func `the last observer that leaves cancels the fetch`() async {
        let isCanceled = Gate()
        let silent = StubTransport.silent { isCanceled.open() }
        let engine = Engine(Engine.Configuration(testing: silent, clock: clock))
        let recorder = QueryRecorder(engine.updates(Self.cities))
        await untilTrue { silent.requests.count == 1 }
        recorder.cancel()
        await isCanceled.wait()
        await untilTrue { !engine.queries.isObserved }
    }

    @Test func `a closed engine ends its queries`() async {
        let engine = engine()
        let recorder = QueryRecorder(engine.updates(Self.cities, every: .seconds(10)))
        await recorder.untilLast { $0.version == 1 }
        await engine.close()
        await untilTrue { recorder.hasEnded }
        let late = QueryRecorder(engine.updates(Self.cities))
        await untilTrue { late.hasEnded }
        #expect(late.states.isEmpty && clock.sleeping.isEmpty)
    }

    // MARK: Occasions

    @Test func `a query with an interval is fetched that long after its last fetch, by the shortest wish`() async {
        let engine = engine()
        let recorder = QueryRecorder(engine.updates(Self.cities, every: .seconds(30)))
        await recorder.untilLast { $0.version == 1 && !$0.isFetching }
        await untilTrue { clock.sleeping.contains(.seconds(30)) }
        let other = QueryRecorder(engine.updates(Self.cities, every: .seconds(10)))
        await untilTrue { clock.sleeping.contains(.seconds(10)) }
        server.version = 2
        clock.advance(by: .seconds(9))
        #expect(transport.requests.count == 1)
        clock.advance(by: .seconds(1))
        await recorder.untilLast { $0.version == 2 && !$0.isFetching }
        other.cancel()
        await untilTrue { other.hasEnded }
        await untilTrue { clock.sleeping.contains(.seconds(10)) }
        clock.advance(by: .seconds(10))
        await untilTrue { clock.sleeping.contains(.seconds(20)) || transport.requests.count == 3 }
    }

    @Test func `a query that has failed is fetched when the network returns`() async {
        let engine = engine()
        (server.isOffline, reachability.isReachable) = (true, false)
        let recorder = QueryRecorder(engine.updates(Self.cities))
        await recorder.untilLast { $0.error?.code == .cannotConnect && $0.value == nil && !$0.isFetching }
        (server.isOffline, reachability.isReachable) = (false, true)
        await recorder.untilLast { $0.version == 1 && $0.error == nil }
    }

    @Test(arguments: [true, false])
    func `a query is fetched when the app comes to the foreground, if it is stale`(isStale: Bool) async throws {
        let engine = engine()
        let recorder = QueryRecorder(engine.updates(Self.cities))
        let other = QueryRecorder(engine.updates(Request("http://h/other"), on: []))
        await recorder.untilLast { $0.version == 1 && !$0.isFetching }
        await other.untilLast { $0.version == 1 && !$0.isFetching }
        server.version = 2
        if isStale { clock.advance(by: .seconds(61)) }
        engine.noteForeground()
        if !isStale { try await engine.invalidate(.tag("cities")) }
        await recorder.untilLast { $0.version == 2 && !$0.isFetching }
        #expect(transport.requests.count == 3 && other.last?.version == 1)
    }

    // MARK: Other processes and users

    @Test(arguments: [true, false])
    func `a query shows what another process has stored`(isInvalidated: Bool) async throws {
        let (engine, other) = (engine(), engine())
        let recorder = QueryRecorder(engine.updates(Self.cities))
        await recorder.untilLast { $0.version == 1 && !$0.isFetching }
        await engine.cache?.flush()
        clock.advance(by: .milliseconds(10))
        server.version = 2
        if isInvalidated {
            try await other.invalidate(.tag("cities"))
        } else {
            var request = Self.cities
            request.cache = .reload
            _ = try await other.send(request)
            await other.cache?.flush()
        }
        let asked = transport.requests.count
        await untilTrue {
            clock.advance(by: QueryWatch.pollInterval)
            return recorder.last?.version == 2 && recorder.last?.isFetching == false
        }
        #expect(recorder.last?.source == (isInvalidated ? .network : .cache))
        #expect(transport.requests.count == asked + (isInvalidated ? 1 : 0))
    }

    @Test func `a query without a value shows what another process has stored`() async throws {
        let (engine, other) = (engine(), engine())
        server.isOffline = true
        let recorder = QueryRecorder(engine.updates(Self.cities))
        await recorder.untilLast { $0.error?.code == .cannotConnect && !$0.isFetching }
        server.isOffline = false
        _ = try await other.send(Self.cities)
        await other.cache?.flush()
        await untilTrue {
            clock.advance(by: QueryWatch.pollInterval)
            return recorder.last?.version == 1 && recorder.last?.error == nil
        }
        #expect(transport.requests.count == 2)
    }

    @Test func `a query does not show the value of a user who has signed out`() async throws {
        let user = Guarded("anna")
        let engine = engine { $0.credentials = StubUser(user) }
        let recorder = QueryRecorder(engine.updates(Self.cities))
        await recorder.untilLast { $0.version == 1 && !$0.isFetching }
        server.gate.close()
        server.version = 2
        user.withLock { $0 = "bob" }
        try await engine.forget(identity: "anna")
        await recorder.untilLast { $0.value == nil && $0.response == nil && $0.isFetching }
        server.gate.open()
        await recorder.untilLast { $0.version == 2 && !$0.isFetching }
    }

    @Test func `a query that is fetched for another user first drops the value`() async throws {
        let user = Guarded("anna")
        let engine = engine { $0.credentials = StubUser(user) }
        let recorder = QueryRecorder(engine.updates(Self.cities))
        await recorder.untilLast { $0.version == 1 && !$0.isFetching }
        user.withLock { $0 = "bob" }
        server.status = 503
        try await engine.invalidate(.tag("cities"))
        await recorder.untilLast { $0.value == nil && $0.error?.code == .badStatus }
    }
}

/// A provider of the identity that the test sets.
private struct StubUser: CredentialProvider {
    let user: Guarded<String>

    init(_ user: Guarded<String>) { self.user = user }

    func identity(for request: Request) async throws -> String? { user.withLock { $0 } }
    func secret(_ name: String, for identity: String?) async throws -> String? { nil }
}
