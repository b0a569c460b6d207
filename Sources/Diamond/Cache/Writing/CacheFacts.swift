/// The facts that are written together with a group of changes.
struct CacheFacts: Sendable {
    /// Entries that were used, by the prefixes of their keys.
    var visited: Set<Int64> = []
    /// The counts of each hour in which something happened, the newest last.
    var counts: [CacheCounts] = []
    /// The accesses to record. None are recorded where the store keeps no record.
    var accesses: [CacheAccess] = []
    /// Whether the cache was used since the last write: hit, or stored into.
    var areOfUse = false

    var isEmpty: Bool { visited.isEmpty && counts.isEmpty && accesses.isEmpty && !areOfUse }
}
