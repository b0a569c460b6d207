/// A change of the disk tier.
///
/// It is a class, because an array and a dictionary hold it at once, and move it. The properties that they read are
/// stored next to the action: reading them from the action would copy its entry.
final class CacheChange: Sendable {
    enum Action: Sendable {
        case store(CacheEntry)
        case confirm(CacheEntry, replacing: StoredResponse)
        /// An erasure. `everywhere` also drops the entry from the memory of every process; otherwise this one keeps it
        /// there.
        case delete(everywhere: Bool)
    }

    let key: RequestKey
    let action: Action
    /// The approximate bytes of memory that it takes until it is written.
    let cost: Int
    /// The approximate maximum growth of the file in bytes.
    let diskBytes: Int64
    /// Whether it counts as a store. A revalidation merged into a store that still waits does not.
    let isNew: Bool

    /// The approximate bytes that a change takes besides its contents.
    private static let overhead = 512

    private init(_ key: RequestKey, _ action: Action, cost: Int = 0, diskBytes: Int64 = 0, isNew: Bool = false) {
        self.key = key
        self.action = action
        self.cost = cost
        self.diskBytes = diskBytes
        self.isNew = isNew
    }

    /// Creates the storing of an entry.
    ///
    /// - Parameter isNew: `false` if it replaces a store that still waits by the revalidated entry.
    static func store(_ entry: CacheEntry, isNew: Bool = true) -> CacheChange {
        let size = entry.stored.body.count + entry.stored.headerBlock.count + 2 * entry.request.count
        return CacheChange(
            entry.key, .store(entry), cost: size + overhead, diskBytes: Int64(size) + 4096, isNew: isNew)
    }

    // The body on disk does not change, but memory holds it until the write, with the headers of the old response.
    static func confirm(_ entry: CacheEntry, replacing old: StoredResponse) -> CacheChange {
        let bodies = max(entry.stored.body.count, old.body.count)
        let size = bodies + entry.stored.headerBlock.count + old.headerBlock.count + entry.request.count
        return CacheChange(entry.key, .confirm(entry, replacing: old), cost: size + overhead)
    }

    /// Creates an erasure. It costs nothing, so that it is never refused: the erased entry would come back.
    static func delete(_ key: RequestKey, everywhere: Bool = false) -> CacheChange {
        CacheChange(key, .delete(everywhere: everywhere))
    }

    var isErasure: Bool { if case .delete = action { true } else { false } }

    /// Whether other processes have to drop the entry, too.
    var isForAll: Bool { if case .delete(everywhere: true) = action { true } else { false } }
}

/// The uses, counts and accesses that are written together with a group of changes.
struct UsageRecords: Sendable {
    /// The prefixes of the keys of used entries.
    var visited: Set<Int64> = []
    /// The counts of each hour in which something happened, the newest last.
    var counts: [CacheCounts] = []
    /// The accesses to record. None are recorded if the store keeps no record.
    var accesses: [CacheAccess] = []
    /// Whether the cache was used since the last write: hit, or stored into.
    var wasUsed = false

    var isEmpty: Bool { visited.isEmpty && counts.isEmpty && accesses.isEmpty && !wasUsed }
}
