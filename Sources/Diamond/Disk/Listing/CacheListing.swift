import DiamondSQLite
public import Foundation

/// How a list is sorted; each goes through an index.
package enum CacheOrder: String, Sendable, CaseIterable {
    case newest, largest, url
}

/// One entry as a list shows it, and as a predicate tells it: everything but headers and body.
public struct CacheListing: Sendable {
    /// What it is stored under.
    public package(set) var key: RequestKey
    /// The request's.
    public package(set) var method: String
    /// In normal form, secrets masked; `•••` where it is sealed and cannot be opened.
    public package(set) var url: String
    /// The response's.
    public package(set) var status: Int
    /// Bytes, as stored: a sealed chunk of 128 KiB takes 32 more.
    public package(set) var bodySize: Int64
    /// Whether it is the beginning of a body whose transfer is under way, or has broken off: no request is answered
    /// with it.
    public package(set) var isPartial: Bool
    /// When it arrived, or was last confirmed; of a partial one, when the last of it was written.
    public var date: Date { Date(milliseconds: storedAt) }

    /// Milliseconds since 1970.
    package var storedAt: Int64
    /// Milliseconds, as ``lifetime``.
    package var initialAge: Int64
    package var lifetime: Int64?
    package var flags: StoredResponse.Flags
    /// The row.
    package var id: Int64
    package var isSealed = false
    /// Whether it is sealed, and nobody here can open it.
    package var isLocked = false

    /// `nil` for a row that nobody has written.
    init?(row: borrowing SQLiteStatement) {
        let times = [row.int64(4), row.int64(5), row.int64(6), row.int64(8)]
        guard let key = RequestKey(stored: row.data(0)), times.allSatisfy(CacheTable.times.contains) else { return nil }
        self.key = key
        method = row.text(1)
        url = row.text(2)
        status = Int(row.int64(3))
        storedAt = row.int64(4)
        initialAge = row.int64(5)
        lifetime = row.isNull(6) ? nil : row.int64(6)
        flags = .init(rawValue: row.int64(7))
        bodySize = row.int64(8)
        id = row.int64(9)
        isSealed = row.int64(10) != 0
        isPartial = row.int64(11) != 0
    }

    /// Milliseconds of freshness left by the server's word, negative when past; `nil` where the server gave none.
    package func freshness(at now: Int64) -> Int64? {
        guard flags.isDisjoint(with: [.noCache, .invalidated]) else { return 0 }
        return lifetime.map { $0 - initialAge - max(0, now - storedAt) }
    }
}

/// What a store holds (``Cache/totals()``).
public struct CacheTotals: Sendable {
    /// Responses; what transfers have received that are not at their end is not among them.
    public package(set) var entries = 0
    /// What transfers have received that are not at their end.
    package var partials = 0
    /// Bytes of the bodies of both, as they are kept.
    public package(set) var bodyBytes: Int64 = 0
    /// Bytes of all the cache's files, the write-ahead log included.
    public package(set) var diskBytes: Int64 = 0
    package var oldest: Int64?
    package var newest: Int64?
}
