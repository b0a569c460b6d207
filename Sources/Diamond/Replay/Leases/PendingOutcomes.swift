import DiamondSQLite

/// The outcomes of jobs that are being written. Their owner keeps its row and its lock until each is written or
/// abandoned.
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

    /// Waits until no outcome is being written. For one caller at a time.
    func waitUntilWritten() async {
        while count.withLock({ $0 > 0 }) { await changes.wait() }
    }
}
