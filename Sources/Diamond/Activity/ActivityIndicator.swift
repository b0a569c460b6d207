import DiamondSQLite

/// Decides when an app shows a network activity indicator: it appears some time after the first exchange has begun,
/// and disappears a little after the last one has ended.
///
/// ```swift
/// let indicator = engine.activity.indicator()
/// for await isVisible in indicator.visibility { spinner.isHidden = !isVisible }
/// ```
///
/// It appears if something is on the wire one second after the first exchange began. It disappears after 0.17 seconds
/// without exchanges. Both delays can be changed. It uses the engine's clock. Keep a reference to it while you use it.
public final class ActivityIndicator: Sendable {
    private struct State {
        var life = IndicatorLife()
        var timer: Task<Void, Never>?
        var observers = Listeners<AsyncStream<Bool>.Continuation>()
    }

    private let state = Guarded(State())
    private let observation = Guarded<ActivityObservation?>(nil)
    private let showDelay: Duration
    private let hideDelay: Duration
    private let clock: any Clock<Duration>

    init(_ activity: Activity, showDelay: Duration, hideDelay: Duration) {
        self.showDelay = showDelay
        self.hideDelay = hideDelay
        clock = activity.clock
        let observer = activity.observeWire { [weak self, weak activity] in
            if let activity { self?.update(from: activity) }
        }
        observation.withLock { $0 = observer }
        update(from: activity)
    }

    deinit {
        state.withLock { state in
            state.timer?.cancel()
            for observer in state.observers.all { observer.finish() }
        }
    }

    /// Whether the indicator is visible now.
    public var isVisible: Bool { state.withLock { $0.life.isVisible } }

    /// The visibility: first the current value, then its changes. A slow reader gets only the newest value. The stream
    /// ends with the indicator.
    public var visibility: AsyncStream<Bool> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { observer in
            let number = state.withLock { state in
                observer.yield(state.life.isVisible)
                return state.observers.add(observer)
            }
            observer.onTermination = { [weak self] _ in
                _ = self?.state.withLock { $0.observers.remove(number) }
            }
        }
    }

    // The activity is read under the indicator's lock, so that of two threads the last one sets the newest value.
    private func update(from activity: Activity) { apply { $0.change(isBusy: activity.counts.inFlight > 0) } }

    private func apply(_ body: (inout IndicatorLife) -> Void) {
        state.withLock { state in
            let before = state.life
            body(&state.life)
            if state.life.isVisible != before.isVisible { state.observers.yield(state.life.isVisible) }
            if state.life.timerNumber != before.timerNumber { restart(&state) }
        }
    }

    private func restart(_ state: inout State) {
        state.timer?.cancel()
        let number = state.life.timerNumber
        let delay = state.life.isVisible ? hideDelay : showDelay
        state.timer =
            state.life.isWaiting
            ? Self.timer(delay, by: clock) { [weak self] in self?.apply { $0.timerFired(number: number) } } : nil
    }

    private static func timer(
        _ delay: Duration,
        by clock: some Clock<Duration>,
        action: @escaping @Sendable () -> Void
    ) -> Task<Void, Never> {
        let deadline = clock.now.advanced(by: delay)
        return Task { if (try? await clock.sleep(until: deadline, tolerance: nil)) != nil { action() } }
    }
}

extension Activity {
    /// Returns a new indicator.
    ///
    /// - Parameters:
    ///   - showDelay: the delay after the first exchange began, if something is on the wire then; 1 second.
    ///   - hideDelay: the delay after the last exchange ended; 0.17 seconds.
    public func indicator(
        showDelay: Duration = .seconds(1),
        hideDelay: Duration = .milliseconds(170)
    ) -> ActivityIndicator {
        ActivityIndicator(self, showDelay: showDelay, hideDelay: hideDelay)
    }
}
