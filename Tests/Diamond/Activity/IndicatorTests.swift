import DiamondTestSupport
import DiamondTesting
import Testing

@testable import Diamond

@Suite("The lifecycle of an indicator") struct IndicatorLifecycleTests {
    enum Input: CaseIterable { case begins, ends, timeIsUp }

    /// The inputs that lead to a state.
    private static let ways: [IndicatorLife.Phase: [Input]] = [
        .notActive: [], .delayingStart: [.begins], .active: [.begins, .timeIsUp],
        .delayingEnd: [.begins, .timeIsUp, .ends],
    ]

    @Test(arguments: [
        (IndicatorLife.Phase.notActive, Input.begins, IndicatorLife.Phase.delayingStart),
        (.notActive, .ends, .notActive),
        (.notActive, .timeIsUp, .notActive),
        (.delayingStart, .begins, .delayingStart),
        (.delayingStart, .ends, .delayingStart),
        (.delayingStart, .timeIsUp, .active),
        (.active, .begins, .active),
        (.active, .ends, .delayingEnd),
        (.active, .timeIsUp, .active),
        (.delayingEnd, .begins, .active),
        (.delayingEnd, .ends, .delayingEnd),
        (.delayingEnd, .timeIsUp, .notActive),
    ]) func `an indicator's lifecycle follows AFNetworking's table`(
        state: IndicatorLife.Phase, input: Input, next: IndicatorLife.Phase
    ) throws {
        var life = IndicatorLife()
        for step in try #require(Self.ways[state]) { life.take(step) }
        #expect(life.phase == state)
        life.take(input)
        #expect(life.phase == next)
        #expect(life.isVisible == [.active, .delayingEnd].contains(next))
        #expect(life.isWaiting == [.delayingStart, .delayingEnd].contains(next))
    }

    @Test func `an indicator's lifecycle shows no activity that ended before its delay`() {
        var life = IndicatorLife()
        for step in [Input.begins, .ends, .timeIsUp] { life.take(step) }
        #expect(life.phase == .notActive)
    }

    @Test func `an indicator's lifecycle does not restart the delay where one activity follows another`() {
        var life = IndicatorLife()
        life.take(.begins)
        let wait = life.timerNumber
        life.take(.ends)
        life.take(.begins)
        #expect(life.timerNumber == wait)
    }

    @Test func `an indicator's lifecycle ignores the timer of an earlier state`() {
        var life = IndicatorLife()
        life.take(.begins)
        life.take(.timeIsUp)
        life.take(.ends)
        let old = life.timerNumber
        life.take(.begins)
        life.take(.ends)
        life.timerFired(number: old)
        #expect(life.phase == .delayingEnd)
    }
}

extension IndicatorLife {
    fileprivate mutating func take(_ input: IndicatorLifecycleTests.Input) {
        switch input {
        case .begins: change(isBusy: true)
        case .ends: change(isBusy: false)
        case .timeIsUp: timerFired(number: timerNumber)
        }
    }
}

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
