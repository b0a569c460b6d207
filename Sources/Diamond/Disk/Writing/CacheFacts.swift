/// What goes along with a group of changes.
struct CacheFacts: Sendable {
    /// Entries that were used, by the prefixes of their keys.
    var visited: Set<Int64> = []
    /// Of each hour that something happened in, the newest last.
    var counts: [CacheCounts] = []
    var accesses: [CacheAccess] = []

    var isEmpty: Bool { visited.isEmpty && counts.isEmpty && accesses.isEmpty }
}
