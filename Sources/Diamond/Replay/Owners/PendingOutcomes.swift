import DiamondSQLite

/// The outcomes of jobs that are being written: their owner keeps its row and its lock until they are, or are given up.
final class PendingOutcomes: Sendable {
    private let count = Guarded(0)
    private let changes = Signal()

    /// Runs `body`, which writes an outcome.
    func writing<Value>(_ body: () async -> Value) async -> Value {
        count.withLock { $0 += 1 }
        defer {
            count.withLock { $0 -= 1 }
            changes.wake()
        }
        return await body()
    }

    /// Returns when none is left. For one caller at a time.
    func end() async {
        while count.withLock({ $0 > 0 }) { await changes.wait() }
    }
}
