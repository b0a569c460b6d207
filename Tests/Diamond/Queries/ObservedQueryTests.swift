#if canImport(Observation)
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Observation
import Testing

@testable import Diamond

@Suite("An observable query", .limit(minutes: 5)) @MainActor struct ObservedQueryTests {
    private let server = VersionServer()

    @Test func `has the newest state while it runs, and keeps the last state`() async throws {
        let engine = Engine(Engine.Configuration(testing: server.transport))
        let cities = ObservedQuery(engine.updates(Request("http://h/cities")))
        #expect(cities.value == nil && cities.error == nil && !cities.isFetching && !engine.queries.isObserved)
        let isChanged = Gate()
        withObservationTracking {
            _ = cities.value
        } onChange: {
            isChanged.open()
        }
        let run = Task { await cities.run() }
        await isChanged.wait()
        await untilTrue { cities.state.version == 1 }
        server.version = 2
        try await engine.invalidate(.url("http://h/cities"))
        await untilTrue { cities.state.version == 2 && !cities.isFetching }
        run.cancel()
        await run.value
        await untilTrue { !engine.queries.isObserved }
        #expect(cities.state.version == 2)
    }
}
#endif
