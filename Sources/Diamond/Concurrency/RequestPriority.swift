/// The priority of a caller, with the cases of `Operation.QueuePriority`.
enum RequestPriority: Int, CaseIterable, Comparable {
    case veryLow, low, normal, high, veryHigh

    static func < (left: RequestPriority, right: RequestPriority) -> Bool { left.rawValue < right.rawValue }

    /// Tells changes of the priority since this one, until the priority told last is the current one. The priority may
    /// change before a listener is registered, and again while a change is being told.
    func keepUp(with current: () -> RequestPriority, tell: (RequestPriority) -> Void) {
        var told = self
        while case let now = current(), now != told {
            tell(now)
            told = now
        }
    }
}
