/// What has left of a request that is kept, run by run: a pause ends a run, and another follows, which may begin before
/// the one that was given up is over.
struct ReplayRuns: Hashable, Sendable {
    private struct Run: Hashable {
        /// All that have begun.
        var exchanges = 0
        /// Those of them that may have been processed, as far as is known.
        var left = 0
        /// When the first of those began; milliseconds since 1970.
        var sentAt: Int64?
    }

    private var last = 0
    /// Of those in which an exchange has begun.
    private var runs: [Int: Run] = [:]

    /// A run begins.
    ///
    /// - Returns: its number.
    mutating func begin() -> Int {
        last += 1
        return last
    }

    /// An exchange begins.
    mutating func leave(in run: Int, at now: Int64) {
        var changed = runs[run] ?? Run()
        changed.exchanges += 1
        changed.left += 1
        changed.sentAt = changed.sentAt ?? now
        runs[run] = changed
    }

    /// The exchange that began last surely was not processed.
    mutating func takeBack(in run: Int) {
        guard var changed = runs[run], changed.left > 0 else { return }
        changed.left -= 1
        if changed.left == 0 { changed.sentAt = nil }
        runs[run] = changed
    }

    /// The exchange that was about to begin has not.
    mutating func stay(in run: Int) {
        takeBack(in: run)
        runs[run]?.exchanges -= 1
    }

    /// Whether an exchange has begun in a run.
    func hasBegun(in run: Int) -> Bool { (runs[run]?.exchanges ?? 0) > 0 }

    /// How many exchanges may have something to do with the end of a run: all of its own, and what others have left.
    func exchanges(atEndOf run: Int) -> Int {
        runs.reduce(0) { $0 + ($1.key == run ? $1.value.exchanges : $1.value.left) }
    }

    /// When something of it may have been processed unseen.
    ///
    /// - Parameter run: whose end is known otherwise; `nil` for none.
    func unknownAt(besides run: Int? = nil) -> Int64? {
        runs.lazy.filter { $0.key != run }.compactMap(\.value.sentAt).min()
    }
}
