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
