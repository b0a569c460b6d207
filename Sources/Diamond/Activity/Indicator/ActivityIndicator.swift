import DiamondSQLite

/// Says when an app shows that something is on the wire: after a while, and a little longer than it lasts.
///
/// ```swift
/// let indicator = engine.activity.indicator()
/// for await isVisible in indicator.visibility { spinner.isHidden = !isVisible }
/// ```
///
/// It is shown when something is on the wire a second after the first exchange began, and hidden when nothing has been for 0.17
/// seconds; both may be changed. It goes by the engine's clock. Keep it as long as you use it.
public final class ActivityIndicator: Sendable {
    private struct State {
        var life = IndicatorLife()
        var timer: Task<Void, Never>?
        var watchers: [Int: AsyncStream<Bool>.Continuation] = [:]
        var count = 0
    }

    private let state = Guarded(State())
    private let observation = Guarded<ActivityObservation?>(nil)
    private let showDelay: Duration
    private let hideDelay: Duration
    private let clock: any Clock<Duration>

    init(_ activity: Activity, showDelay: Duration, hideDelay: Duration) {
        (self.showDelay, self.hideDelay, clock) = (showDelay, hideDelay, activity.clock)
        let observer = activity.observeWire { [weak self, weak activity] in
            if let activity { self?.look(at: activity) }
        }
        observation.withLock { $0 = observer }
        look(at: activity)
    }

    deinit {
        state.withLock { state in
            state.timer?.cancel()
            for watcher in state.watchers.values { watcher.finish() }
        }
    }

    /// Whether it is to be shown now.
    public var isVisible: Bool { state.withLock { $0.life.isVisible } }

    /// Whether it is to be shown, first now, then as that changes; who is slow gets the last only. Ends with the indicator.
    public var visibility: AsyncStream<Bool> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { watcher in
            let number = state.withLock { state in
                watcher.yield(state.life.isVisible)
                state.count += 1
                state.watchers[state.count] = watcher
                return state.count
            }
            watcher.onTermination = { [weak self] _ in
                _ = self?.state.withLock { $0.watchers.removeValue(forKey: number) }
            }
        }
    }

    // Looked at under the indicator's lock: of two threads that come, the last sees what is.
    private func look(at activity: Activity) { step { $0.change(isBusy: activity.inFlight > 0) } }

    private func step(_ body: (inout IndicatorLife) -> Void) {
        state.withLock { state in
            let before = state.life
            body(&state.life)
            if state.life.isVisible != before.isVisible {
                for watcher in state.watchers.values { watcher.yield(state.life.isVisible) }
            }
            if state.life.wait != before.wait { restart(&state) }
        }
    }

    private func restart(_ state: inout State) {
        state.timer?.cancel()
        let (wait, delay) = (state.life.wait, state.life.isVisible ? hideDelay : showDelay)
        state.timer =
            state.life.isWaiting
            ? Self.timer(delay, by: clock) { [weak self] in self?.step { $0.timeIsUp(wait) } } : nil
    }

    private static func timer(
        _ delay: Duration,
        by clock: some Clock<Duration>,
        _ ring: @escaping @Sendable () -> Void
    ) -> Task<Void, Never> {
        let deadline = clock.now.advanced(by: delay)
        return Task { if (try? await clock.sleep(until: deadline, tolerance: nil)) != nil { ring() } }
    }
}

extension Activity {
    /// Makes an indicator.
    ///
    /// - Parameters:
    ///   - showDelay: how long after the first exchange began it is shown, if something is on the wire then; 1 second.
    ///   - hideDelay: how long nothing has to be on the wire before it is hidden; 0.17 seconds.
    public func indicator(
        showDelay: Duration = .seconds(1),
        hideDelay: Duration = .milliseconds(170)
    ) -> ActivityIndicator {
        ActivityIndicator(self, showDelay: showDelay, hideDelay: hideDelay)
    }
}
