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
