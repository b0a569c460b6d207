/// The state machine of a batch: a value that returns actions, which ``BatchCoordinator`` performs.
///
/// One thread at a time reports the newest state to the outside (Foundation's `Progress`, the end). A thread that finds
/// another one reporting leaves the report to it.
struct BatchLife {
    /// A report to the outside.
    struct Report: Equatable {
        let completed: Int
        /// Whether the report is the last.
        let isEnd: Bool
    }

    let count: Int
    let isFailingFast: Bool
    /// The indices of the items that have ended, in the order of their ends.
    private(set) var ended: [Int] = []
    /// Whether the end has been reported or is being reported.
    private(set) var isOver = false
    private var failed = 0
    /// The number of ended items in the last report.
    private var reported = -1
    private var isReporting = false
    private var pauses = 0
    /// Whether the connections were paused last.
    private var isPaused = false
    private var isChangingPause = false

    init(count: Int, isFailingFast: Bool) {
        self.count = count
        self.isFailingFast = isFailingFast
    }

    var progress: BatchProgress { BatchProgress(completed: ended.count, failed: failed, count: count) }

    /// Records the end of an item. Each item ends once.
    ///
    /// - Returns: whether the others are to be canceled.
    mutating func end(_ index: Int, isFailure: Bool) -> Bool {
        ended.append(index)
        if isFailure { failed += 1 }
        return isFailure && isFailingFast && failed == 1 && ended.count < count
    }

    /// Begins a report, which ``endReport()`` ends.
    ///
    /// - Returns: the report; `nil` if another thread is reporting, or nothing is new.
    mutating func nextReport() -> Report? {
        guard !isReporting, reported < ended.count else { return nil }
        isReporting = true
        reported = ended.count
        isOver = reported == count
        return Report(completed: reported, isEnd: isOver)
    }

    mutating func endReport() { isReporting = false }

    // MARK: Pauses

    mutating func pause() { pauses += 1 }

    mutating func resume() { pauses = max(0, pauses - 1) }

    /// Begins a change of the connections' pauses, which ``endPauseChange()`` ends.
    ///
    /// - Returns: `true` to pause them, `false` to resume them; `nil` if another thread is changing them, or nothing
    ///   has changed.
    mutating func nextPauseChange() -> Bool? {
        guard !isChangingPause, isPaused != (pauses > 0) else { return nil }
        isChangingPause = true
        isPaused = pauses > 0
        return isPaused
    }

    mutating func endPauseChange() { isChangingPause = false }
}
