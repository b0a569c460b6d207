package import DiamondSQLite
import Foundation

/// The queries for lists and statistics. They never read bodies.
extension CacheTable {
    private static let columns: SQL = """
        key, method, url, status, stored_at, initial_age, lifetime, flags, body_size, id, seal IS NOT NULL AS is_sealed,
        is_partial
        """

    /// Returns a page of a list. It skips no rows by counting, so that a late page costs as much as the first.
    ///
    /// - Parameters:
    ///   - selections: groups of selections; an entry has to be in at least one of each group.
    ///   - cursor: the position where the page begins, in the same order.
    static func list(
        _ selections: [[CacheSelection]],
        by order: CacheOrder,
        after cursor: CacheCursor?,
        limit: Int,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [CacheListing] {
        let condition: SQL = "\(sql: condition(selections)) AND \(sql: start(after: cursor))"
        return try page(where: "\(sql: condition) ORDER BY \(sql: terms(of: order))", limit: limit, on: connection)
    }

    /// Returns a page of valid rows. Rows with values that Diamond never writes do not count: a page that is not full
    /// is the last one.
    ///
    /// - Parameter condition: the condition and the order of the rows.
    private static func page(
        where condition: SQL,
        limit: Int,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [CacheListing] {
        var limitOfRows = limit
        while true {
            let statement = try connection.statement(
                once: "SELECT \(sql: columns) FROM entry WHERE \(sql: condition) LIMIT \(limitOfRows)",
                columns: CacheListing.Column.self)
            let (listings, rows) = try listings(of: statement)
            guard listings.count < limit, rows == limitOfRows else { return Array(listings.prefix(limit)) }
            limitOfRows *= 2
        }
    }

    private static func start(after cursor: CacheCursor?) -> SQL {
        guard let cursor else { return "TRUE" }
        return switch cursor.order {
        case .newest: "(stored_at, id) < (\(cursor.number), \(cursor.id))"
        case .largest: "(body_size, id) < (\(cursor.number), \(cursor.id))"
        case .url: "(url, id) > (\(cursor.url), \(cursor.id))"
        }
    }

    /// Returns the SQL condition for entries that each group selects by one of its selections.
    private static func condition(_ selections: [[CacheSelection]]) -> SQL {
        let groups: [SQL] = selections.map { group in
            let terms: [SQL] = group.map { "(\(sql: condition($0)))" }
            return "(\(sql: terms.joined(by: " OR ")))"
        }
        return (["TRUE"] + groups).joined(by: " AND ")
    }

    private static func terms(of order: CacheOrder) -> SQL {
        switch order {
        case .newest: "stored_at DESC, id DESC"
        case .largest: "body_size DESC, id DESC"
        case .url: "url, id"
        }
    }

    /// Returns the entries from an id on, in the order of insertion.
    static func list(
        _ selections: [[CacheSelection]] = [],
        from id: Int64,
        limit: Int,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [CacheListing] {
        let condition: SQL = "\(sql: condition(selections)) AND id >= \(id) ORDER BY id"
        return try page(where: condition, limit: limit, on: connection)
    }

    /// Returns the entries whose keys begin with some hexadecimal digits, two at most: enough to tell whether there is
    /// only one. For a key with a partial entry and a whole one, it returns the whole one.
    static func list(
        beginning digits: String,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [CacheListing] {
        guard let (first, last) = prefixes(beginning: digits) else { return [] }
        let statement = try connection.statement(
            """
            SELECT key, method, url, status, stored_at, initial_age, lifetime, flags, body_size, id,
                seal IS NOT NULL AS is_sealed, min(is_partial) AS is_partial
            FROM entry WHERE key_prefix BETWEEN \(first) AND \(last)
                AND substr(lower(hex(key)), 1, \(digits.utf8.count)) = \(digits.lowercased()) GROUP BY key LIMIT 2
            """, columns: CacheListing.Column.self
        )
        return try listings(of: statement).listings
    }

    /// Returns the least and the greatest prefix of keys that begin with some digits, one digit at least: the first
    /// decides the sign.
    private static func prefixes(beginning digits: String) -> (first: Int64, last: Int64)? {
        let known = digits.prefix(16)
        let bounds = ["0", "f"].compactMap { digit in
            UInt64(known + String(repeating: digit, count: 16 - known.count), radix: 16)
        }
        return bounds.count == 2 ? (Int64(bitPattern: bounds[0]), Int64(bitPattern: bounds[1])) : nil
    }

    private static func listings(
        of statement: borrowing SQLiteStatement
    ) throws(SQLiteError) -> (listings: [CacheListing], rows: Int) {
        var listings: [CacheListing] = []
        var rows = 0
        while try statement.step() {
            rows += 1
            if let listing = CacheListing(row: statement) { listings.append(listing) }
        }
        return (listings, rows)
    }

    package static func totals(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> CacheTotals {
        // The values come from indexes alone: a million entries take some tens of milliseconds. Counts kept by triggers
        // would be faster to read, but slow every write. Not `sum`, which fails if damaged sizes overflow.
        let statement = try connection.statement(
            """
            SELECT count(*), CAST(total(body_size) AS INTEGER), (SELECT min(stored_at) FROM entry),
                (SELECT max(stored_at) FROM entry),
                (SELECT count(*) FROM entry INDEXED BY entry_by_size WHERE body_size = 0 AND flags & 512)
            FROM entry
            """
        )
        guard try statement.step() else { return CacheTotals() }
        let partials = try partialCount(on: connection)
        var totals = CacheTotals(
            entries: Int(statement.int64(0) - statement.int64(4)) - partials, bodyBytes: statement.int64(1))
        totals.partials = partials
        totals.oldest = statement.optionalTime(2)
        totals.newest = statement.optionalTime(3)
        return totals
    }
}
