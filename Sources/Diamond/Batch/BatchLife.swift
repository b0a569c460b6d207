/// The life of a batch as a value that says what to do; ``BatchLedger`` does it.
///
/// One thread at a time reports to the outside (Foundation's `Progress`, the end), each time the newest state. A thread
/// that finds another one reporting leaves the report to it.
struct BatchLife {
    /// A report to the outside.
    struct News: Equatable {
        let completed: Int
        /// Whether it is the last.
        let isEnd: Bool
    }

    let count: Int
    let isFailingFast: Bool
    /// The indices of the items that have ended, in the order in which they did.
    private(set) var ended: [Int] = []
    /// Whether the end has been told, or is about to be.
    private(set) var isOver = false
    private var failed = 0
    private var told = -1
    private var isTelling = false
    private var pauses = 0
    private var isHeld = false
    private var isHolding = false

    init(count: Int, isFailingFast: Bool) {
        self.count = count
        self.isFailingFast = isFailingFast
    }

    var progress: BatchProgress { BatchProgress(completed: ended.count, failed: failed, count: count) }

    /// An item has ended; each does once.
    ///
    /// - Returns: whether the others are to be canceled.
    mutating func end(_ index: Int, isFailure: Bool) -> Bool {
        ended.append(index)
        if isFailure { failed += 1 }
        return isFailure && isFailingFast && failed == 1 && ended.count < count
    }

    /// - Returns: the report to make, followed by ``hasTold()``; `nil` where another thread is reporting, or all has
    ///   been reported.
    mutating func nextNews() -> News? {
        guard !isTelling, told < ended.count else { return nil }
        (isTelling, told) = (true, ended.count)
        isOver = told == count
        return News(completed: told, isEnd: isOver)
    }

    mutating func hasTold() { isTelling = false }

    // MARK: Pauses

    mutating func pause() { pauses += 1 }

    mutating func resume() { pauses = max(0, pauses - 1) }

    /// - Returns: whether to hold the items or to let them go, followed by ``hasHeld()``; `nil` where another thread is
    ///   doing so, or nothing is to be done.
    mutating func nextHold() -> Bool? {
        guard !isHolding, isHeld != (pauses > 0) else { return nil }
        isHolding = true
        isHeld = pauses > 0
        return isHeld
    }

    mutating func hasHeld() { isHolding = false }
}
