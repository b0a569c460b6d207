/// The state of an indicator of activity, as a value. The indicator is not shown for work that is over at once, and
/// does not flicker between two exchanges. The states are AFNetworking's (`AFNetworkActivityIndicatorManager` 3).
///
/// | | begins | ends | time is up |
/// |---|---|---|---|
/// | notActive | delayingStart | – | – |
/// | delayingStart | – | – | active, or notActive where nothing is on the wire then |
/// | active | – | delayingEnd | – |
/// | delayingEnd | active | – | notActive |
struct IndicatorLife: Equatable {
    enum State: Hashable, CaseIterable { case notActive, delayingStart, active, delayingEnd }

    private(set) var state = State.notActive
    private var isBusy = false
    /// Tells the wait of one state from those before it.
    private(set) var wait = 0

    var isVisible: Bool { state == .active || state == .delayingEnd }

    /// Whether it waits for ``timeIsUp(_:)``.
    var isWaiting: Bool { state == .delayingStart || state == .delayingEnd }

    /// Something is on the wire, or nothing.
    mutating func change(isBusy: Bool) {
        self.isBusy = isBusy
        switch (state, isBusy) {
        case (.notActive, true): enter(.delayingStart)
        case (.active, false): enter(.delayingEnd)
        case (.delayingEnd, true): enter(.active)
        case (.notActive, false), (.delayingStart, _), (.active, true), (.delayingEnd, false): break
        }
    }

    /// - Parameter wait: the one that has come to its end; without effect where it counts no more.
    mutating func timeIsUp(_ wait: Int) {
        guard wait == self.wait else { return }
        switch state {
        case .delayingStart: enter(isBusy ? .active : .notActive)
        case .delayingEnd: enter(.notActive)
        case .notActive, .active: break
        }
    }

    private mutating func enter(_ state: State) {
        self.state = state
        wait += 1
    }
}
