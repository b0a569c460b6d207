package import DiamondSQLite
import Foundation

/// The statements of eviction, which reads and removes one slice at a time.
extension CacheTable {
    /// The result of one slice of eviction.
    struct EvictionSlice {
        var count = 0
        /// Whether there is nothing left that may be removed.
        var isExhausted = false
    }

    /// The most rows read in one transaction, and the most bytes of bodies removed in it.
    private static let sliceRows: Int64 = 64
    static let sliceBytes: Int64 = 4 << 20
    /// The approximate bytes that an entry takes besides its body, in its row and in the indexes.
    private static let rowBytes: Int64 = 1 << 10

    /// Returns the bytes that an entry adds to a slice. The size in a damaged row may be anything.
    static func weight(ofBody size: Int64) -> Int64 { min(max(0, size), sliceBytes) + rowBytes }

    static func pages(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> CachePages {
        let size = try connection.integer("PRAGMA page_size")
        let free = try connection.integer("PRAGMA freelist_count")
        return CachePages(used: (try connection.integer("PRAGMA page_count") - free) * size, free: free * size)
    }

    /// Removes leftovers of transfers that cannot be continued.
    static func evictLeftovers(
        at now: WallTime,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> EvictionSlice {
        // One in a transaction, because it may be large.
        let left = try leftovers(at: now, limit: 1, on: connection)
        guard let id = left.first else { return EvictionSlice(isExhausted: true) }
        _ = try deleteLeftover(id, at: now, on: connection)
        return EvictionSlice(count: 1)
    }

    /// Removes entries that are past their lifetime and cannot be revalidated, the longest past first.
    ///
    /// - Parameter excess: the bytes to remove. At most the last entry goes beyond.
    static func evictExpired(
        before now: WallTime,
        excess: Int64,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> EvictionSlice {
        let statement = try connection.statement(
            """
            SELECT id, body_size FROM entry
            WHERE lifetime IS NOT NULL AND flags & 18 = 0 AND expires_at < \(now) ORDER BY expires_at LIMIT \(sliceRows)
            """
        )
        var ids: [Int64] = []
        var bytes: Int64 = 0
        while bytes < min(excess, sliceBytes), try statement.step() {
            ids.append(statement.int64(0))
            bytes += weight(ofBody: statement.int64(1))
        }
        try delete(ids, on: connection)
        return EvictionSlice(count: ids.count, isExhausted: ids.isEmpty)
    }

    /// Runs one slice of SIEVE from the hand on. Entries used since the hand last visited them are spared once; the
    /// others are removed.
    ///
    /// - Parameter excess: the bytes to remove. At most the last entry goes beyond.
    static func evictUnvisited(
        excess: Int64,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> EvictionSlice {
        let hand = try hand(on: connection)
        let rows = try slice(from: hand, excess: excess, on: connection)
        try unvisit(rows.filter(\.isVisited).map(\.id), on: connection)
        let ids = rows.filter { !$0.isVisited }.map(\.id)
        try delete(ids, on: connection)
        // After the last row the hand starts again. Damage may have caused the largest possible id.
        try setHand(rows.last.map { $0.id < .max ? $0.id + 1 : 0 } ?? 0, on: connection)
        return EvictionSlice(count: ids.count, isExhausted: rows.isEmpty && hand == 0)
    }

    private struct Row {
        var id: Int64
        var isVisited: Bool
    }

    private static func slice(
        from hand: Int64,
        excess: Int64,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [Row] {
        let statement = try connection.statement(
            """
            SELECT id, is_visited, body_size FROM entry WHERE id >= \(hand) AND flags & 16 = 0 ORDER BY id
                LIMIT \(sliceRows)
            """
        )
        var rows: [Row] = []
        var bytes: Int64 = 0
        while bytes < min(excess, sliceBytes), try statement.step() {
            let row = Row(id: statement.int64(0), isVisited: statement.int64(1) != 0)
            rows.append(row)
            if !row.isVisited { bytes += weight(ofBody: statement.int64(2)) }
        }
        return rows
    }

    static func delete(_ ids: [Int64], on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        try note(.other, of: ids, on: connection)
        for id in ids { try connection.run("DELETE FROM entry WHERE id = \(id)") }
    }

    private static func unvisit(_ ids: [Int64], on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        for id in ids { try connection.run("UPDATE entry SET is_visited = 0 WHERE id = \(id)") }
    }

    /// Marks entries as used.
    static func visit(_ prefixes: Set<Int64>, on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        for prefix in prefixes {
            try connection.run("UPDATE entry SET is_visited = 1 WHERE key_prefix = \(prefix) AND is_visited = 0")
        }
    }

    private static func hand(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Int64 {
        try connection.integer("SELECT value FROM fact WHERE name = 'hand'")
    }

    package static func setHand(_ id: Int64, on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        try saveFact(id, named: "hand", on: connection)
    }
}
