import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A confirmation under way while its entry is pinned", .limit(minutes: 5)) struct PinnedConfirmationTests {
    @Test(arguments: [false, true])
    func `a confirmation keeps its entry pinned or unpinned as the app has set it`(isPinned: Bool) async throws {
        let (temporary, clock, checkpoint) = (TemporaryStore(), ManualClock(), Checkpoint())
        let transport = StubTransport { request throws(TransportError) in
            let headers: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"a\""]
            guard request.headers[.ifNoneMatch] != nil else { return .stub(headers: headers) }
            await checkpoint.pass()
            return .stub(status: 304, headers: headers)
        }
        let engine = temporary.engine(transport, clock: clock)
        let cache = try #require(engine.cache)
        var request = Request("http://h/cities")
        _ = try await engine.send(request)
        let key = try await engine.key(of: request)
        try await cache.setPinned(!isPinned, for: key)
        // The entry read from disk has the pin.
        cache.memory.removeAll()
        clock.advance(by: 10)
        request.cache = .revalidate
        let confirmation = engine.start(request)
        await checkpoint.reached()
        #expect(try await cache.setPinned(isPinned, for: key))
        checkpoint.open()
        #expect(try await confirmation.response.source == .revalidated)
        await cache.flush()
        let listed = try cache.list(limit: 2)
        #expect(listed.map { $0.flags.contains(.pinned) } == [isPinned])
        #expect(listed.map(\.storedAt) == [clock.wallTime])
    }
}
