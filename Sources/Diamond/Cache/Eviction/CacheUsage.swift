/// The bytes of the file's pages.
struct CachePages: Sendable {
    /// Bytes of those that hold something.
    var used: Int64
    /// Bytes of those that hold nothing.
    var free: Int64
}

/// The part of its bound that a store uses.
package struct CacheUsage: Hashable, Sendable {
    /// Bytes of the pages that hold something.
    package var used: Int64
    /// The bytes of the pages that hold nothing. They are used again.
    package var free: Int64
    /// The most used bytes before eviction begins: the capacity without the bytes that the log may take.
    package var bound: Int64

    /// The used bytes at which eviction stops: 90 % of the bound, so that it does not begin again at once.
    package var goal: Int64 { bound / 10 * 9 }
}

/// The result of bringing a store within its bound.
package struct CacheEviction: Hashable, Sendable {
    package var count: Int
    /// The decrease in bytes of the pages that hold something.
    package var bytes: Int64
    /// The usage after the eviction.
    package var usage: CacheUsage
}
