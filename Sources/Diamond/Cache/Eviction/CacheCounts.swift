import DiamondSQLite
public import Foundation

/// The counts of the cache's work in one hour.
public struct CacheCounts: Hashable, Sendable {
    /// Whole hours since 1970.
    package var hour: Int64
    /// Fresh responses from the cache.
    public package(set) var hits: Int64 = 0
    /// Stale responses from the cache that the policy accepted.
    public package(set) var staleHits: Int64 = 0
    /// Stored responses that the server confirmed with a 304.
    public package(set) var revalidations: Int64 = 0
    /// Requests for which nothing usable was stored.
    public package(set) var misses: Int64 = 0
    /// Responses that were written to disk. ``ActivityEvent/stored`` may be reported before that, also for responses
    /// that are then not written.
    public package(set) var stores: Int64 = 0
    /// Entries that were removed to keep the store within its capacity.
    public package(set) var evictions: Int64 = 0
    /// The bytes of the bodies served from the cache.
    public package(set) var bytesServed: Int64 = 0
    /// The duration of the exchanges that fresh and stale responses from the cache replaced, in milliseconds.
    package var millisecondsSaved: Int64 = 0

    /// The start of the hour.
    public var start: Date { Date(timeIntervalSince1970: Double(hour) * 3600) }

    /// The duration of the exchanges that fresh and stale responses from the cache replaced.
    public var timeSaved: Duration { .milliseconds(millisecondsSaved) }

    package init(hour: Int64) { self.hour = hour }

    enum Column: Int, SQLiteColumns {
        case hour, hits, staleHits, revalidations, misses, stores, evictions, bytesServed, timeSaved

        static let counts = allCases.dropFirst()
    }

    /// Creates counts from columns in the order of the table.
    init(hour: Int64, columns: [Int64]) {
        self.init(hour: hour)
        guard columns.count == 8 else { return }
        hits = columns[0]
        staleHits = columns[1]
        revalidations = columns[2]
        misses = columns[3]
        stores = columns[4]
        evictions = columns[5]
        bytesServed = columns[6]
        millisecondsSaved = columns[7]
    }

    /// Adds other counts of the same hour.
    mutating func add(_ other: CacheCounts) {
        self = CacheCounts(hour: hour, columns: zip(columns, other.columns).map { $0.addingSaturating($1) })
    }

    var columns: [Int64] {
        [hits, staleHits, revalidations, misses, stores, evictions, bytesServed, millisecondsSaved]
    }

    var isEmpty: Bool { columns.allSatisfy { $0 == 0 } }
}

/// The counts of several hours, the newest last.
extension [CacheCounts] {
    /// Changes the counts of an hour.
    ///
    /// - Returns: whether the hour is new and follows others, which have ended.
    mutating func count(in hour: Int64, _ body: (inout CacheCounts) -> Void) -> Bool {
        let isNew = last?.hour != hour
        if isNew { append(CacheCounts(hour: hour)) }
        body(&self[endIndex - 1])
        return isNew && count > 1
    }

    /// Adds the counts of an hour from another collector.
    mutating func add(_ counts: CacheCounts) {
        let place = firstIndex { $0.hour == counts.hour }
        if let place { self[place].add(counts) } else { append(counts) }
    }
}
