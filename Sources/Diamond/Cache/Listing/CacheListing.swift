import DiamondSQLite
public import Foundation

/// The order of a list.
public enum CacheOrder: String, Sendable, CaseIterable {
    /// The order by the time at which a response arrived or was last confirmed, the newest first.
    case newest
    /// The order by the size of the body, the largest first.
    case largest
    /// The order by the URL, in the order of its bytes.
    case url
}

/// An entry without its headers and body, for lists and predicates.
public struct CacheListing: Sendable {
    /// The key that it is stored under.
    public package(set) var key: RequestKey
    /// The method of the request.
    public package(set) var method: String
    /// The URL in normal form, with secrets masked; `•••` if it is sealed and cannot be opened.
    public package(set) var url: String
    /// The status of the response.
    public package(set) var status: Int
    /// The bytes of the body as stored. A sealed chunk of 128 KiB takes 32 more.
    public package(set) var bodySize: Int64
    /// Whether it is a part of a body: of a 206, or of a transfer that is in progress or was interrupted. It answers
    /// only requests for ranges within it.
    public package(set) var isPartial: Bool
    /// The date when it arrived or was last confirmed. For a partial entry, the date of its last write.
    public var date: Date { storedAt.date }

    package var storedAt: WallTime
    /// The initial age in milliseconds, as ``lifetime``.
    package var initialAge: Int64
    package var lifetime: Int64?
    package var flags: StoredResponse.Flags
    /// The row.
    package var id: Int64
    package var isSealed = false
    /// Whether it is sealed and cannot be opened here.
    package var isLocked = false

    enum Column: Int, SQLiteColumns {
        case key, method, url, status, storedAt, initialAge, lifetime, flags, bodySize, id, isSealed, isPartial
    }

    /// Creates a listing from a row; `nil` if the row has values that Diamond never writes, or is an index of variants.
    init?(row: borrowing SQLiteStatement) {
        let times = [Column.storedAt, .initialAge, .lifetime, .bodySize].map { row.int64($0) }
        guard let key = RequestKey(stored: row.data(Column.key)), times.allSatisfy(CacheTable.times.contains) else {
            return nil
        }
        flags = .init(rawValue: row.int64(Column.flags))
        guard !flags.contains(.variants) else { return nil }
        self.key = key
        method = row.text(Column.method)
        url = row.text(Column.url)
        status = Int(row.int64(Column.status))
        storedAt = row.time(Column.storedAt)
        initialAge = row.int64(Column.initialAge)
        lifetime = row.optional(Column.lifetime)
        bodySize = row.int64(Column.bodySize)
        id = row.int64(Column.id)
        isSealed = row.int64(Column.isSealed) != 0
        isPartial = row.int64(Column.isPartial) != 0
    }

    init(_ record: CacheRecord) {
        let stored = record.entry.stored
        key = record.key
        method = record.entry.method
        url = record.url
        status = stored.status
        storedAt = stored.storedAt
        initialAge = stored.initialAge
        lifetime = stored.lifetime
        flags = stored.flags
        bodySize = record.body.size
        id = record.id
        isSealed = record.seal != nil
        isPartial = stored.flags.contains(.partial)
    }

    /// Returns the milliseconds of freshness left, negative when past; `nil` if there is no lifetime, explicit or
    /// heuristic.
    package func freshness(at now: WallTime) -> Int64? {
        guard flags.isDisjoint(with: [.noCache, .invalidated]) else { return 0 }
        return lifetime.map { $0 - initialAge - max(0, now.milliseconds(since: storedAt)) }
    }
}

/// The totals of a store (``Cache/totals()``).
public struct CacheTotals: Sendable {
    /// Creates totals, for a storage.
    public init(entries: Int = 0, bodyBytes: Int64 = 0, diskBytes: Int64 = 0) {
        self.entries = entries
        self.bodyBytes = bodyBytes
        self.diskBytes = diskBytes
    }

    /// The number of stored responses, without the partial ones.
    public package(set) var entries: Int
    /// The number of partial entries: the received parts of unfinished transfers.
    package var partials = 0
    /// The bytes of all bodies as stored, partial entries included.
    public package(set) var bodyBytes: Int64
    /// The bytes of all the cache's files, including the write-ahead log; for a server, of its memory or tables, if it
    /// tells them.
    public package(set) var diskBytes: Int64
    package var oldest: WallTime?
    package var newest: WallTime?
}
