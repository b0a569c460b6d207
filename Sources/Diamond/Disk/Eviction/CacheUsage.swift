/// What the file's pages take.
struct CachePages: Sendable {
    /// Bytes of those that hold something.
    var used: Int64
    /// Bytes of those that hold nothing.
    var free: Int64
}

/// How much of its bound a store uses.
package struct CacheUsage: Hashable, Sendable {
    /// Bytes of the pages that hold something.
    package var used: Int64
    /// Bytes of those that hold nothing, and are used again.
    package var free: Int64
    /// The most of them before eviction begins: the capacity without what the log beside the file may take.
    package var bound: Int64

    /// Eviction goes on to here, so that it need not begin again at once.
    package var goal: Int64 { bound / 10 * 9 }
}

/// What went when a store was brought within a bound.
package struct CacheEviction: Hashable, Sendable {
    package var count: Int
    /// Of the pages that hold something, fewer than before.
    package var bytes: Int64
    /// Afterwards.
    package var usage: CacheUsage
}
