/// The state machine of an activity indicator, as a value. The indicator is not shown for short work, and does not
/// flicker between two exchanges. The phases are those of AFNetworking 3 (`AFNetworkActivityIndicatorManager`).
///
/// | | first exchange begins | last exchange ends | timer fires |
/// |---|---|---|---|
/// | notActive | delayingStart | – | – |
/// | delayingStart | – | – | active, or notActive if nothing is on the wire then |
/// | active | – | delayingEnd | – |
/// | delayingEnd | active | – | notActive |
struct IndicatorLife: Equatable {
    enum Phase: Hashable, CaseIterable { case notActive, delayingStart, active, delayingEnd }

    private(set) var phase = Phase.notActive
    private var isBusy = false
    /// The number of the current phase's timer. Earlier timers have lower numbers.
    private(set) var timerNumber = 0

    var isVisible: Bool { phase == .active || phase == .delayingEnd }

    /// Whether the phase ends with ``timerFired(number:)``.
    var isWaiting: Bool { phase == .delayingStart || phase == .delayingEnd }

    /// Sets whether something is on the wire.
    mutating func change(isBusy: Bool) {
        self.isBusy = isBusy
        switch (phase, isBusy) {
        case (.notActive, true): enter(.delayingStart)
        case (.active, false): enter(.delayingEnd)
        case (.delayingEnd, true): enter(.active)
        case (.notActive, false), (.delayingStart, _), (.active, true), (.delayingEnd, false): break
        }
    }

    /// Handles the end of a timer.
    ///
    /// - Parameter number: the number of the timer. An earlier timer has no effect.
    mutating func timerFired(number: Int) {
        guard number == timerNumber else { return }
        switch phase {
        case .delayingStart: enter(isBusy ? .active : .notActive)
        case .delayingEnd: enter(.notActive)
        case .notActive, .active: break
        }
    }

    private mutating func enter(_ phase: Phase) {
        self.phase = phase
        timerNumber += 1
    }
}
