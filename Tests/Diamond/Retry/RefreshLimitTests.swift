import Testing

@testable import Diamond

@Suite("The limit of credential refreshes") struct RefreshLimitTests {
    @Test func `allows five refreshes in thirty seconds`() {
        var limit = RefreshLimit()
        #expect((0..<5).allSatisfy { limit.beginIfAllowed(at: EngineTime(rawValue: $0 * 1000)) })
        #expect(limit.beginIfAllowed(at: 5000) == false)
        #expect(limit.beginIfAllowed(at: 29_999) == false)
        #expect(limit.beginIfAllowed(at: 30_000) == true)
        #expect(limit.beginIfAllowed(at: 30_999) == false)
        #expect(limit.beginIfAllowed(at: 31_000) == true)
    }

    @Test func `does not count refused refreshes`() {
        var limit = RefreshLimit(count: 1)
        #expect(limit.beginIfAllowed(at: 0) == true)
        for now in stride(from: Int64(1), to: 30_000, by: 100) {
            #expect(limit.beginIfAllowed(at: EngineTime(rawValue: now)) == false)
        }
        #expect(limit.allows(at: 30_000))
        #expect(limit.beginIfAllowed(at: 30_000) == true)
        #expect(!limit.allows(at: 30_001))
    }
}
