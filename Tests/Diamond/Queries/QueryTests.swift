import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("An observed query", .limit(minutes: 5)) struct QueryTests {
    private let fixture = QueryFixture()

    @Test func `gives the stored value, then the server's value`() async throws {
        let engine = fixture.engine()
        _ = try await engine.send(QueryFixture.cities)
        fixture.clock.advance(by: .seconds(61))
        fixture.server.version = 2
        fixture.server.gate.close()
        let recorder = QueryRecorder(engine.updates(QueryFixture.cities))
        await recorder.untilLast { $0.version == 1 && $0.isFetching && $0.source == .stale }
        #expect(recorder.last?.date == fixture.clock.date - 61)
        fixture.server.gate.open()
        await recorder.untilLast { $0.version == 2 && !$0.isFetching && $0.source == .network }
        #expect(recorder.last?.date == fixture.clock.date && recorder.last?.error == nil)
        #expect(recorder.states.allSatisfy { $0.value != nil })
    }

    @Test func `a query whose stored value is fresh sends nothing`() async throws {
        let engine = fixture.engine()
        _ = try await engine.send(QueryFixture.cities)
        let recorder = QueryRecorder(engine.updates(QueryFixture.Version()))
        await recorder.untilLast { $0.value == 1 && !$0.isFetching && $0.source == .cache }
        #expect(recorder.states.count == 1 && fixture.transport.requests.count == 1)
    }

    @Test func `a query without a stored value reports that it is fetching`() async {
        fixture.server.gate.close()
        let engine = fixture.engine()
        let recorder = QueryRecorder(engine.updates(QueryFixture.Version()))
        await recorder.untilLast { $0.value == nil && $0.isFetching }
        fixture.server.gate.open()
        await recorder.untilLast { $0.value == 1 && !$0.isFetching }
    }

    @Test func `an error status is reported with the last value until a fetch succeeds`() async throws {
        let engine = fixture.engine()
        let recorder = QueryRecorder(engine.updates(QueryFixture.Version()))
        await recorder.untilLast { $0.value == 1 && !$0.isFetching }
        fixture.server.status = 500
        try await engine.invalidate(.tag("cities"))
        await recorder.untilLast { $0.error?.code == .badStatus && $0.value == 1 && !$0.isFetching }
        fixture.server.status = 200
        try await engine.invalidate(QueryFixture.cities)
        await recorder.untilLast { $0.error == nil && $0.value == 1 && !$0.isFetching }
    }

    /// A failure of the server.
    enum Failure: CaseIterable { case network, status }

    @Test(arguments: Failure.allCases)
    func `a failure in place of which the stored value is served is reported until a fetch succeeds`(failure: Failure)
        async throws
    {
        let engine = fixture.engine { $0.retry = .never }
        var request = QueryFixture.cities
        request.cache = .networkElseCache
        let first = try await engine.send(request)
        #expect(first.text == "1")
        fixture.clock.advance(by: .seconds(61))
        if failure == .network { fixture.server.isOffline = true } else { fixture.server.status = 503 }
        let recorder = QueryRecorder(engine.updates(request))
        await recorder.untilLast { $0.error != nil && $0.version == 1 && !$0.isFetching }
        #expect(recorder.last?.error?.code == (failure == .network ? .cannotConnect : .badStatus))
        #expect(recorder.last?.error?.isOffline == (failure == .network))
        (fixture.server.isOffline, fixture.server.status, fixture.server.version) = (false, 200, 2)
        try await engine.invalidate(.tag("cities"))
        await recorder.untilLast { $0.error == nil && $0.version == 2 && !$0.isFetching }
    }

    @Test func `a body that cannot be decoded is reported with the last value, and is not stored`() async throws {
        let body = Guarded("1")
        let transport = StubTransport { _ in .stub(body: body.withLock { $0 }) }
        let engine = fixture.engine { $0.transport = transport }
        let recorder = QueryRecorder(engine.updates(QueryFixture.Version()))
        await recorder.untilLast { $0.value == 1 && !$0.isFetching }
        body.withLock { $0 = "one" }
        try await engine.invalidate(.tag("cities"))
        await recorder.untilLast { $0.error?.code == .undecodable && $0.value == 1 && !$0.isFetching }
        var stored = QueryFixture.cities
        stored.cache = .cacheOnly
        #expect(try await engine.send(stored).body == Data("1".utf8))
    }

    @Test(arguments: [HTTPRequest.Method.post, .put, .delete, .patch])
    func `a request with an unsafe method is not sent, and fails its query`(method: HTTPRequest.Method) async {
        let engine = fixture.engine()
        let recorder = QueryRecorder(engine.updates(Request("http://h/cities", method: method)))
        await untilTrue { recorder.hasEnded }
        #expect(
            recorder.last?.error?.code == .badRequest && recorder.states.count == 1
                && fixture.transport.requests.isEmpty)
    }

    @Test func `a query with cacheOnly is ready without a value if nothing is stored`() async {
        var request = QueryFixture.cities
        request.cache = .cacheOnly
        let engine = fixture.engine()
        let recorder = QueryRecorder(engine.updates(request))
        await recorder.untilLast { $0.value == nil && $0.error == nil && !$0.isFetching }
        #expect(fixture.transport.requests.isEmpty)
    }

    enum Outdating: CaseIterable {
        case tag, request, key, purge, purgeAll, cacheTag, cachePurge, predicate, mutation, sameURL
    }

    @Test(arguments: Outdating.allCases, [true, false])
    func `a query that is made stale is fetched once more`(by outdating: Outdating, hasStore: Bool) async throws {
        let engine = fixture.engine(hasStore: hasStore)
        let recorder = QueryRecorder(engine.updates(QueryFixture.cities))
        await recorder.untilLast { $0.version == 1 && !$0.isFetching }
        await engine.cache?.flush()
        fixture.server.version = 7
        let isOfCache = [.cacheTag, .cachePurge, .predicate].contains(outdating)
        guard hasStore || !isOfCache else { return }
        try await outdate(outdating, engine)
        let version = [.mutation, .sameURL].contains(outdating) ? 8 : 7
        await recorder.untilLast { $0.version == version && !$0.isFetching }
        #expect(fixture.transport.requests.count { $0.method == .get } == 2)
    }

    private func outdate(_ outdating: Outdating, _ engine: Engine) async throws {
        switch outdating {
        case .tag: try await engine.invalidate(.tag("cities"))
        case .request: try await engine.invalidate(QueryFixture.cities)
        case .key: try await engine.invalidate(.key(engine.key(of: QueryFixture.cities)))
        case .purge: try await engine.purge(QueryFixture.cities)
        case .purgeAll: try await engine.purge(.all)
        case .cacheTag: try await engine.cache?.invalidate(.tag("cities"))
        case .cachePurge: try await engine.cache?.purge(.host("h"))
        case .predicate: try await engine.cache?.invalidate { $0.url == "http://h/cities" }
        case .mutation: _ = try await engine.send(QueryFixture.mutation(["cities", "others"]))
        case .sameURL:
            var request = QueryFixture.mutation()
            request.url = "http://h/cities"
            _ = try await engine.send(request)
        }
    }

    @Test func `is not fetched after changes of other requests' entries`() async throws {
        let engine = fixture.engine()
        let recorder = QueryRecorder(engine.updates(QueryFixture.cities))
        await recorder.untilLast { $0.version == 1 && !$0.isFetching }
        try await engine.invalidate(.tag("towns"))
        try await engine.purge(.host("other"))
        _ = try await engine.send(QueryFixture.mutation(["towns"]))
        // A later fetch shows that none was due before.
        try await engine.invalidate(.tag("cities"))
        await recorder.untilLast { $0.version == 2 && !$0.isFetching }
        #expect(fixture.transport.requests.count { $0.method == .get } == 2)
    }

    @Test func `a query that is invalidated during its fetch is fetched again`() async throws {
        let engine = fixture.engine()
        fixture.server.gate.close()
        let recorder = QueryRecorder(engine.updates(QueryFixture.cities))
        await untilTrue { fixture.transport.requests.count == 1 }
        fixture.server.version = 2
        try await engine.invalidate(.tag("cities"))
        fixture.server.gate.open()
        await recorder.untilLast { $0.version == 2 && !$0.isFetching }
        #expect(fixture.transport.requests.count == 2)
    }
}
