import DiamondSQLite
import Dispatch

/// Puts changes on disk behind the callers, up to 64 in one transaction.
///
/// Changes keep their order. The death of the process loses at most those not yet written.
final class CacheWriter: Sendable {
    enum Change: Sendable {
        case store(CacheEntry)
        case confirm(CacheEntry)
        case delete(RequestKey)
    }

    private struct State {
        var waiting: [Change] = []
        var isScheduled = false
    }

    private static let groupSize = 64

    private let database: SQLiteDatabase
    private let activity: Activity
    private let state = Guarded(State())
    private let queue = DispatchQueue(label: "diamond.cache.writer", qos: .utility)

    init(database: SQLiteDatabase, activity: Activity) {
        self.database = database
        self.activity = activity
    }

    func add(_ change: Change) {
        let mustSchedule = state.withLock { state in
            state.waiting.append(change)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if mustSchedule { queue.async { self.drain() } }
    }

    /// Returns when everything added before is on disk, or has failed.
    func flush() async {
        await withCheckedContinuation { continuation in
            queue.async {
                self.drain()
                continuation.resume()
            }
        }
    }

    private func drain() {
        while let group = nextGroup() {
            do {
                try write(group)
            } catch {
                activity.report(.cacheFailed(reason: error.summary))
            }
        }
    }

    private func nextGroup() -> [Change]? {
        state.withLock { state in
            let group = Array(state.waiting.prefix(Self.groupSize))
            state.waiting.removeFirst(group.count)
            state.isScheduled = !group.isEmpty
            return group.isEmpty ? nil : group
        }
    }

    private func write(_ group: [Change]) throws(SQLiteError) {
        try database.write { (connection) throws(SQLiteError) in
            for change in group {
                switch change {
                case .store(let entry): try CacheTable.store(entry, on: connection)
                case .confirm(let entry): try CacheTable.confirm(entry, on: connection)
                case .delete(let key): _ = try CacheTable.delete(key, on: connection)
                }
            }
        }
    }
}
