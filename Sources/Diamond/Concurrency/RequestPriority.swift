/// How urgent a caller is, as `Operation.QueuePriority`.
enum RequestPriority: Int, CaseIterable, Comparable {
    case veryLow, low, normal, high, veryHigh

    static func < (left: RequestPriority, right: RequestPriority) -> Bool { left.rawValue < right.rawValue }

    /// Tells what has become of it, until what was told last is so still: it may have changed before anybody knew whom to tell,
    /// and again while that was told.
    func keepUp(with current: () -> RequestPriority, tell: (RequestPriority) -> Void) {
        var told = self
        while case let now = current(), now != told {
            tell(now)
            told = now
        }
    }
}
