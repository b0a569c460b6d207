/// The bytes of the file's pages.
struct CachePages: Sendable {
    /// The bytes of the pages in use.
    var used: Int64
    /// The bytes of the free pages.
    var free: Int64
}

/// The used part of a store's capacity.
package struct CacheUsage: Hashable, Sendable {
    /// The bytes of the pages in use.
    package var used: Int64
    /// The bytes of the free pages, which will be used again.
    package var free: Int64
    /// The used bytes beyond which eviction begins: the capacity without the bytes that the log may take.
    package var bound: Int64

    /// The used bytes at which eviction stops: 90 % of the bound, so that it does not begin again at once.
    package var goal: Int64 { bound / 10 * 9 }
}

/// The result of an eviction.
package struct CacheEviction: Hashable, Sendable {
    /// The number of evicted entries.
    package var count: Int
    /// The decrease of the used bytes.
    package var bytes: Int64
    /// The usage after the eviction.
    package var usage: CacheUsage
}
