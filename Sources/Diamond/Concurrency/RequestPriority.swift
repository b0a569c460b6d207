/// The priority of a caller, with the cases of `Operation.QueuePriority`.
enum RequestPriority: Int, CaseIterable, Comparable {
    case veryLow, low, normal, high, veryHigh

    static func < (left: RequestPriority, right: RequestPriority) -> Bool { left.rawValue < right.rawValue }

    /// Reports changes of the priority until the last reported priority is the current one. The priority may change
    /// before a listener is registered, and again during a report.
    func reportChanges(upTo current: () -> RequestPriority, to report: (RequestPriority) -> Void) {
        var reported = self
        while case let now = current(), now != reported {
            report(now)
            reported = now
        }
    }
}

/// A caller that waits with a priority, which may change while it waits.
// A class, because async frames have several copies of the waiter, which are then only references.
protocol PriorityWaiter: AnyObject, Sendable {
    /// The priority now.
    var priority: RequestPriority { get }

    /// Sets the closure to call with changes of the priority.
    ///
    /// - Parameter change: called with each new priority while the caller waits; `nil` when it no longer waits.
    func onPriorityChange(_ change: (@Sendable (RequestPriority) -> Void)?)
}

extension PriorityWaiter {
    /// Registers for changes of the priority, and reports a change that preceded the registration.
    ///
    /// - Parameters:
    ///   - known: the priority at the start of the wait.
    ///   - change: called with each new priority.
    func follow(since known: RequestPriority, _ change: @escaping @Sendable (RequestPriority) -> Void) {
        onPriorityChange(change)
        known.reportChanges(upTo: { priority }, to: change)
    }
}

/// A waiter whose priority does not change.
final class StandingPriority: PriorityWaiter {
    let priority: RequestPriority

    private init(_ priority: RequestPriority) { self.priority = priority }

    private static let all = RequestPriority.allCases.map { StandingPriority($0) }

    /// Returns the waiter with a priority.
    static func waiter(_ priority: RequestPriority) -> StandingPriority { all[priority.rawValue] }

    func onPriorityChange(_ change: (@Sendable (RequestPriority) -> Void)?) {}
}
