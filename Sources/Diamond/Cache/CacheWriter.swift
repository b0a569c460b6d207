import DiamondSQLite
import Dispatch

/// Puts changes on disk behind the callers, up to 64 in one transaction.
///
/// Changes keep their order. The death of the process loses at most those not yet written.
final class CacheWriter: Sendable {
    enum Change: Sendable {
        case store(CacheEntry)
        case confirm(CacheEntry, replacing: StoredResponse)
        case delete(RequestKey)

        var key: RequestKey {
            switch self {
            case .store(let entry), .confirm(let entry, _): entry.key
            case .delete(let key): key
            }
        }
    }

    fileprivate struct State {
        var waiting: [Change] = []
        /// What is not on disk yet, by key: the number of the change, and the change.
        var latest: [RequestKey: (number: Int, change: Change)] = [:]
        var added = 0
        var written = 0
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
            state.added += 1
            state.waiting.append(change)
            state.latest[change.key] = (state.added, change)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if mustSchedule { queue.async { self.drain() } }
    }

    /// The last change of a key that is not on disk yet: what a look-up has to believe before the disk.
    func pending(_ key: RequestKey) -> Change? { state.withLock { $0.latest[key]?.change } }

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
            write(group)
            state.withLock { $0.finish(group) }
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

    // One change that cannot be written (a body too large for the disk) must not take the others along.
    private func write(_ group: [Change]) {
        do {
            try commit(group)
        } catch  where group.count > 1 {
            for change in group { write([change]) }
        } catch {
            activity.report(.cacheFailed(reason: error.summary))
        }
    }

    private func commit(_ group: [Change]) throws(SQLiteError) {
        try database.write { (connection) throws(SQLiteError) in
            for change in group {
                switch change {
                case .store(let entry): try CacheTable.store(entry, on: connection)
                case .confirm(let entry, let old): try CacheTable.confirm(entry, replacing: old, on: connection)
                case .delete(let key): _ = try CacheTable.delete(key, on: connection)
                }
            }
        }
    }
}

extension CacheWriter.State {
    /// The oldest changes are on disk, or have failed.
    fileprivate mutating func finish(_ group: [CacheWriter.Change]) {
        written += group.count
        for change in group {
            if let last = latest[change.key], last.number <= written { latest[change.key] = nil }
        }
    }
}
