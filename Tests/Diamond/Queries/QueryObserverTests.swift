import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("Observers of a query", .limit(minutes: 5)) struct QueryObserverTests {
    private let fixture = QueryFixture()

    @Test func `observers of one query share its fetches, and a late observer gets the current state`() async throws {
        let engine = fixture.engine()
        let recorders = [
            QueryRecorder(engine.updates(QueryFixture.cities)), QueryRecorder(engine.updates(QueryFixture.cities)),
        ]
        for recorder in recorders { await recorder.untilLast { $0.version == 1 && !$0.isFetching } }
        let late = QueryRecorder(engine.updates(QueryFixture.cities))
        await late.untilLast { $0.version == 1 }
        fixture.server.version = 2
        try await engine.invalidate(.tag("cities"))
        for recorder in recorders + [late] { await recorder.untilLast { $0.version == 2 && !$0.isFetching } }
        #expect(fixture.transport.requests.count == 2)
    }

    @Test func `a slow observer gets the newest state`() async throws {
        let engine = fixture.engine()
        let recorder = QueryRecorder(engine.updates(QueryFixture.cities))
        await recorder.untilLast { $0.version == 1 && !$0.isFetching }
        var slow = engine.updates(QueryFixture.cities).makeAsyncIterator()
        #expect(await slow.next(isolation: nil)?.version == 1)
        for version in 2...5 {
            fixture.server.version = version
            try await engine.invalidate(.tag("cities"))
            await recorder.untilLast { $0.version == version && !$0.isFetching }
        }
        #expect(await slow.next(isolation: nil)?.version == 5)
    }

    @Test func `a query without observers runs nothing`() async throws {
        let engine = fixture.engine()
        let updates = engine.updates(QueryFixture.cities, every: .seconds(10))
        #expect(!engine.queries.isObserved && fixture.clock.sleeping.isEmpty && fixture.transport.requests.isEmpty)
        let recorders = [QueryRecorder(updates), QueryRecorder(updates)]
        for recorder in recorders { await recorder.untilLast { $0.version == 1 && !$0.isFetching } }
        await untilTrue { fixture.clock.sleeping == [QueryWatch.pollInterval, .seconds(10)] }
        recorders[0].cancel()
        await untilTrue { recorders[0].hasEnded }
        #expect(engine.queries.isObserved)
        recorders[1].cancel()
        await untilTrue { recorders[1].hasEnded && fixture.clock.sleeping.isEmpty }
        #expect(!engine.queries.isObserved)
        // It begins again with the next observer.
        let last = QueryRecorder(updates)
        await last.untilLast { $0.version == 1 && $0.source == .cache }
    }

    @Test func `the last observer that leaves cancels the fetch`() async {
        let isCanceled = Gate()
        let silent = StubTransport.silent { isCanceled.open() }
        let engine = Engine(Engine.Configuration(testing: silent, clock: fixture.clock))
        let recorder = QueryRecorder(engine.updates(QueryFixture.cities))
        await untilTrue { silent.requests.count == 1 }
        recorder.cancel()
        await isCanceled.wait()
        await untilTrue { !engine.queries.isObserved }
    }

    @Test func `a closed engine ends its queries`() async {
        let engine = fixture.engine()
        let recorder = QueryRecorder(engine.updates(QueryFixture.cities, every: .seconds(10)))
        await recorder.untilLast { $0.version == 1 }
        await engine.close()
        await untilTrue { recorder.hasEnded }
        let late = QueryRecorder(engine.updates(QueryFixture.cities))
        await untilTrue { late.hasEnded }
        #expect(late.states.isEmpty && fixture.clock.sleeping.isEmpty)
    }
}
