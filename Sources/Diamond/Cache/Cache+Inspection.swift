import DiamondSQLite
import Foundation

/// The reads that people need.
extension Cache {
    /// A page of the entries that are in every one of some selections. A deep page costs what the first does; in a sealed
    /// store, by URL or of what URLs begin with, every entry's that may be meant is opened.
    ///
    /// - Parameter cursor: where the page begins, of the same order: behind the last entry of the page before.
    package func list(
        _ selections: [CacheSelection] = [],
        by order: CacheOrder = .newest,
        after cursor: CacheCursor? = nil,
        limit: Int
    ) throws(CacheError) -> [CacheListing] {
        try file.list(selections, by: order, after: cursor, limit: limit)
    }

    /// At most two entries whose keys begin with these hexadecimal digits.
    package func list(beginning digits: String) throws(CacheError) -> [CacheListing] {
        try file.read { (connection) throws(SQLiteError) in
            try file.opened(CacheTable.list(beginning: digits, on: connection), on: connection)
        }
    }

    /// `nil` where there is none, or it is sealed and cannot be opened.
    package func canonicalForm(of key: RequestKey) throws(CacheError) -> String? {
        try file.read { (connection) throws(SQLiteError) in try file.canonicalForm(of: key, on: connection) }
    }

    /// Why what is stored under a key is not for this program to read, though it is sound; `nil` where it is damaged, or
    /// can be read.
    package func obstacle(to key: RequestKey, request: [UInt8]) throws(CacheError) -> String? {
        let finding = try file.read { (connection) throws(SQLiteError) in
            try CacheTable.find(key, request: request, sealing: file.sealing, on: connection)
        }
        guard case .locked(let lock) = finding else { return nil }
        return lock.reason
    }

    /// The names of the keys that have sealed the store's secret: those of the programs that use it sealed.
    package func keyIDs() throws(CacheError) -> [String] {
        try file.read { (connection) throws(SQLiteError) in try CacheTable.sealedSecrets(on: connection).keys.sorted() }
    }

    /// Returns the number of sealed entries, by the names of the keys.
    package func seals() throws(CacheError) -> [String: Int] {
        // A store without a sealed secret has no sealed rows to look for.
        guard try !keyIDs().isEmpty else { return [:] }
        return try file.read { (connection) throws(SQLiteError) in try CacheTable.seals(on: connection) }
    }

    /// Returns the totals of the store now, over all its processes. Entries that are not on disk yet are counted after
    /// ``flush()``. Reads indexes, which takes some tens of milliseconds for a million entries.
    public func totals() throws(CacheError) -> CacheTotals {
        var totals = try file.read { (connection) throws(SQLiteError) in try CacheTable.totals(on: connection) }
        totals.diskBytes = file.database.size
        return totals
    }

    /// Returns the counts of every hour of the last days, over all processes of the store, the oldest first. The counts
    /// of this process since its last write are among them after ``flush()``.
    ///
    /// - Parameter days: 30 by default, 400 at most. Of the hours in which something happened, the last 9,600 are kept.
    public func statistics(days: Int = 30) throws(CacheError) -> [CacheCounts] {
        let first = CacheCounts.hour(of: now()) - Int64(max(0, min(days, 400))) * 24
        return try file.read { (connection) throws(SQLiteError) in try CacheTable.hours(from: first, on: connection) }
    }
}
