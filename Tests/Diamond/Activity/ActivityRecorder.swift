import DiamondSQLite
import DiamondTestSupport
import HTTPTypes

@testable import Diamond

/// Records every interval, and whether it ended once and after its begin.
final class ActivityRecorder: Sendable {
    private struct State {
        var open: [ActivityInterval.ID: ActivityInterval] = [:]
        var lines: [String] = []
        var begun = 0
        var mistakes = 0
    }

    private let state: Guarded<State>
    private let observation: ActivityObservation

    /// - Parameter isRecordingLines: whether ``lines`` is recorded.
    init(_ activity: Activity, isRecordingLines: Bool = true) {
        let state = Guarded(State())
        self.state = state
        observation = activity.observe { event in
            state.withLock { state in
                if isRecordingLines, let line = event.line { state.lines.append(line) }
                switch event {
                case .began(let interval):
                    state.begun += 1
                    if state.open.updateValue(interval, forKey: interval.id) != nil { state.mistakes += 1 }
                case .ended(let interval, _):
                    if state.open.removeValue(forKey: interval.id) == nil { state.mistakes += 1 }
                default: break
                }
            }
        }
    }

    var begun: Int { state.withLock { $0.begun } }
    /// The intervals that have not ended.
    var open: [ActivityInterval] { state.withLock { Array($0.open.values) } }
    /// Whether every interval has ended once.
    var isBalanced: Bool { state.withLock { $0.open.isEmpty && $0.mistakes == 0 } }
    /// Waits until nothing is under way, and all ends are reported: an ended interval is not counted earlier.
    func idle(_ activity: Activity) async {
        await activity.idle()
        await untilTrue { open.isEmpty }
    }
    /// A line for each event.
    var lines: [String] { state.withLock { $0.lines } }
}

extension ActivityEvent {
    fileprivate var line: String? {
        switch self {
        case .began(let interval): "\(interval.name) began"
        case .ended(let interval, let outcome): "\(interval.name) ended\(outcome.words)"
        case .hit(let source, _): "hit \(source.rawValue)"
        case .miss: "miss"
        default: nil
        }
    }
}

extension ActivityInterval {
    fileprivate var name: String { "\(kind)" + (attempt.map { " \($0)" } ?? "") }
}

extension ActivityOutcome {
    fileprivate var words: String {
        [status.map { "\($0.code)" }, source?.rawValue, error].compactMap(\.self).map { " " + $0 }.joined()
    }
}
