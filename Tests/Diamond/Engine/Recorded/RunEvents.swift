import Diamond
import DiamondSQLite
import HTTPTypes

/// The events of an engine since the last reading.
final class RunEvents: ActivityObserver {
    private struct State {
        var facts: [String] = []
        var count = 0
        /// Intervals of waits and of exchanges that have not ended.
        var places: [ActivityInterval.ID: ActivityInterval] = [:]
        /// Intervals that have not ended.
        var open: Set<ActivityInterval.ID> = []
    }

    private let state = Guarded(State())

    /// The number of intervals.
    var count: Int { state.withLock { $0.count } }

    /// The requests that wait for a permit, are on the wire or between two attempts.
    var places: [ActivityInterval] { state.withLock { Array($0.places.values) } }

    /// The number of intervals that have not ended.
    var open: Int { state.withLock { $0.open.count } }

    func receive(_ event: ActivityEvent) {
        state.withLock { state in
            state.count += 1
            switch event {
            case .began(let interval):
                state.open.insert(interval.id)
                if Self.isPlace(interval) { state.places[interval.id] = interval }
                state.facts.append("+\(Self.text(interval))")
            case .ended(let interval, let outcome):
                state.places[interval.id] = nil
                state.open.remove(interval.id)
                state.facts.append("-\(Self.text(interval))" + (outcome.description == "none" ? "" : ": \(outcome)"))
            case .hit(let source, _): state.facts.append("hit \(source.rawValue)")
            case .miss: state.facts.append("miss")
            case .job(let change):
                let states = [change.from, change.to].map { $0.map { "\($0)" } ?? "none" }
                state.facts.append(
                    "job \(change.jobID) \(change.verb.description) \(states.joined(separator: " to ")) \(change.reason)"
                )
            case .cacheFailed: state.facts.append("cacheFailed")
            case .queueFailed: state.facts.append("queueFailed")
            case .malformedRedirect: state.facts.append("oddRedirect")
            // The requests and attempts show it, too.
            case .transferResumed: break
            default: state.facts.append("\(event)")
            }
        }
    }

    /// Returns the events, sorted, because threads report at the same time.
    func take() -> [String] {
        state.withLock { state in
            defer { state.facts = [] }
            return state.facts.sorted()
        }
    }

    private static func isPlace(_ interval: ActivityInterval) -> Bool {
        interval.kind == .queue || interval.kind == .attempt || interval.kind == .backoff
    }

    private static func text(_ interval: ActivityInterval) -> String {
        let number = interval.attempt.map { " \($0)" } ?? ""
        return "\(interval.kind)\(number) \(interval.method.rawValue) \(interval.url.short)"
    }
}
