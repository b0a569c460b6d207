import DiamondTestSupport
import DiamondTesting
import Testing

@Suite("A clock for tests", .limit(minutes: 5)) struct TestClockTests {
    private let clock = TestClock()

    private func sleep(for duration: Duration) -> Task<Void, any Error> {
        Task { [clock] in try await clock.sleep(for: duration) }
    }

    @Test func `the clock waits for the next sleep, and returns its duration`() async throws {
        let waiting = Task { [clock] in await clock.nextSleep() }
        let sleeper = sleep(for: .seconds(3))
        #expect(await waiting.value == .seconds(3))
        clock.advance(by: .seconds(1))
        #expect(await clock.nextSleep() == .seconds(2))
        clock.advance(by: .seconds(2))
        try await sleeper.value
    }

    @Test func `the clock returns the sleep that ends first`() async throws {
        let sleepers = [sleep(for: .seconds(3)), sleep(for: .seconds(1))]
        await untilTrue { clock.sleeping.count == 2 }
        #expect(await clock.nextSleep() == .seconds(1))
        clock.advance(by: .seconds(3))
        for sleeper in sleepers { try await sleeper.value }
    }

    @Test func `a canceled task does not wait for a sleep`() async {
        let waiting = Task { [clock] in await clock.nextSleep() }
        waiting.cancel()
        #expect(await waiting.value == .zero)
    }
}
