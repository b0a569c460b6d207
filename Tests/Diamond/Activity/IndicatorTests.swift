import DiamondTestSupport
import DiamondTesting
import Testing

@testable import Diamond

@Suite("The indicator", .limit(minutes: 5)) struct IndicatorTests {
    private let clock = TestClock()

    private func sleeps(_ duration: Duration?) async {
        await untilTrue { [clock] in clock.sleeping == [duration].compactMap(\.self) }
    }

    @Test func `shows an activity after a second, and hides a sixth of a second after the last`() async {
        let activity = Activity(clock: clock)
        let indicator = activity.indicator()
        var visibility = indicator.visibility.makeAsyncIterator()
        #expect(await visibility.next() == false)
        let token = activity.begin()
        await sleeps(.seconds(1))
        clock.advance(by: .milliseconds(999))
        #expect(!indicator.isVisible)
        clock.advance(by: .milliseconds(1))
        #expect(await visibility.next() == true)
        token.end()
        await sleeps(.milliseconds(170))
        #expect(indicator.isVisible)
        clock.advance(by: .milliseconds(170))
        #expect(await visibility.next() == false)
    }

    @Test func `stays through an activity that follows before it is hidden`() async {
        let activity = Activity(clock: clock)
        let indicator = activity.indicator(showDelay: .zero, hideDelay: .seconds(2))
        let first = activity.begin()
        await untilTrue { indicator.isVisible }
        first.end()
        await sleeps(.seconds(2))
        clock.advance(by: .milliseconds(1999))
        let second = activity.begin()
        await sleeps(nil)
        clock.advance(by: .seconds(10))
        #expect(indicator.isVisible)
        second.end()
        await sleeps(.seconds(2))
        clock.advance(by: .seconds(2))
        await untilTrue { !indicator.isVisible }
    }

    @Test func `an indicator that is created late reads the present activity`() async {
        let activity = Activity(clock: clock)
        let token = activity.begin()
        let indicator = activity.indicator()
        await sleeps(.seconds(1))
        clock.advance(by: .seconds(1))
        await untilTrue { indicator.isVisible }
        withExtendedLifetime(token) {}
    }

    @Test func `a released indicator ends its sequence, and its wait`() async throws {
        let activity = Activity(clock: clock)
        var indicator: ActivityIndicator? = activity.indicator()
        let visibility = indicator?.visibility
        let token = activity.begin()
        await sleeps(.seconds(1))
        indicator = nil
        for await _ in try #require(visibility) {}
        await sleeps(nil)
        withExtendedLifetime(token) {}
    }
}
