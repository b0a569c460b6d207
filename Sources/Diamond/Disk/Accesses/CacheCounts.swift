/// What the cache did in one hour, for plots.
public struct CacheCounts: Hashable, Sendable {
    /// Whole hours since 1970.
    public package(set) var hour: Int64
    /// Answers that were fresh.
    public package(set) var hits: Int64 = 0
    /// Answers past their lifetime, which the policy did not mind.
    public package(set) var staleHits: Int64 = 0
    /// Answers that the server confirmed.
    public package(set) var revalidations: Int64 = 0
    /// Requests for which nothing usable was stored.
    public package(set) var misses: Int64 = 0
    public package(set) var stores: Int64 = 0
    public package(set) var evictions: Int64 = 0
    /// Of bodies, from the cache.
    public package(set) var bytesServed: Int64 = 0
    /// Milliseconds that the exchanges took in whose place a hit answered.
    public package(set) var timeSaved: Int64 = 0

    package init(hour: Int64) { self.hour = hour }

    /// - Parameter time: milliseconds since 1970.
    static func hour(of time: Int64) -> Int64 { time / 3_600_000 }

    /// In the order of the table.
    init(hour: Int64, columns: [Int64]) {
        self.init(hour: hour)
        for (path, count) in zip(Self.paths, columns) { self[keyPath: path] = count }
    }

    var columns: [Int64] { Self.paths.map { self[keyPath: $0] } }

    var isEmpty: Bool { columns.allSatisfy { $0 == 0 } }

    private static var paths: [WritableKeyPath<CacheCounts, Int64>] {
        [\.hits, \.staleHits, \.revalidations, \.misses, \.stores, \.evictions, \.bytesServed, \.timeSaved]
    }
}
