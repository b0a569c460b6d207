package import DiamondSQLite
import Foundation

/// The recorded accesses: a ring of rows with the accesses of a sample of the keys.
extension CacheTable {
    private static let maximumAccesses: Int64 = 65_536
    /// The bytes of capacity for each row of the ring. A row takes about 40 bytes: the ring takes at most 1 % of the
    /// capacity.
    private static let capacityPerAccess: Int64 = 4096

    /// Writes the uses, counts and accesses of a batch.
    ///
    /// - Returns: which accesses are recorded from now on; `nil` if it is not known.
    static func write(
        _ records: UsageRecords,
        capacity: Int64,
        isUncompressed: Bool,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> AccessRecording? {
        if !records.visited.isEmpty { try visit(records.visited, on: connection) }
        for counts in records.counts { try add(counts, on: connection) }
        guard records.wasUsed || !records.accesses.isEmpty else { return nil }
        return try record(records.accesses, capacity: capacity, isUncompressed: isUncompressed, on: connection)
    }

    /// Saves the capacity of the cache that was used. If recording is on, also inserts its accesses, and deletes the
    /// oldest ones beyond the ring's size.
    ///
    /// - Parameters:
    ///   - capacity: the capacity of this process's cache, which limits the ring.
    ///   - isUncompressed: whether this process neither compresses nor seals.
    /// - Returns: the recording that every process of the store follows from now on.
    static func record(
        _ accesses: [CacheAccess],
        capacity: Int64,
        isUncompressed: Bool = false,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> AccessRecording {
        let facts = try facts(on: connection)
        if facts.capacity != capacity { try saveFact(capacity, named: "capacity", on: connection) }
        guard facts.isRecording else { return .off }
        let sampling = Sampling(shift: facts.shift)
        return .on(
            try add(
                accesses, capacity: capacity, isUncompressed: isUncompressed, sampling: sampling, on: connection))
    }

    private static func add(
        _ accesses: [CacheAccess],
        capacity: Int64,
        isUncompressed: Bool,
        sampling: Sampling,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Sampling {
        guard !accesses.isEmpty else { return sampling }
        let limit = min(maximumAccesses, max(1, capacity / capacityPerAccess))
        // The accesses of each part of the recorder are in order, but not those of all parts.
        let added = accesses.sorted { $0.second < $1.second }.suffix(Int(limit))
        for access in added { try insert(access, isSizeKnown: isUncompressed && access.kind != .hit, on: connection) }
        let newest = connection.lastInsertedID
        if newest > limit { try deleteAccesses(through: newest - limit, on: connection) }
        // The ids of one transaction are consecutive. The ring has turned if they pass a multiple of its size.
        guard newest / limit > (newest - Int64(added.count)) / limit else { return sampling }
        return try turn(sampling, on: connection)
    }

    private static func facts(
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> (shift: Int64, capacity: Int64, isRecording: Bool) {
        let statement = try connection.statement(
            """
            SELECT (SELECT value FROM fact WHERE name = 'shift'), (SELECT value FROM fact WHERE name = 'capacity'),
                EXISTS (SELECT 1 FROM fact WHERE name = 'recording')
            """
        )
        guard try statement.step() else { return (0, 0, false) }
        return (statement.int64(0), statement.int64(1), statement.int64(2) != 0)
    }

    /// Whether the store records its accesses.
    package static func isRecording(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Bool {
        try facts(on: connection).isRecording
    }

    /// Switches recording on or off. Off also deletes the record.
    package static func setRecording(_ isOn: Bool, on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        guard !isOn else { return try saveFact(1, named: "recording", on: connection) }
        try connection.run("DELETE FROM fact WHERE name IN ('recording', 'shift')")
        try connection.run("DELETE FROM access")
    }

    /// Returns all accesses in chronological order, and the capacity of the cache that recorded last.
    package static func accesses(
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> (accesses: [CacheAccess], capacity: Int64?) {
        let statement = try connection.statement(
            """
            SELECT key_prefix, body_size, entry_size, second, kind, uses, shift, passed_uses, passed_bytes
            FROM access ORDER BY second, id
            """, columns: CacheAccess.Column.self
        )
        var accesses: [CacheAccess] = []
        while try statement.step() {
            if let access = CacheAccess(row: statement) { accesses.append(access) }
        }
        return (accesses, try capacity(on: connection))
    }

    /// Returns the capacity of the cache that recorded last; `nil` if there is none.
    package static func capacity(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Int64? {
        let capacity = try connection.integer("SELECT value FROM fact WHERE name = 'capacity'")
        return capacity > 0 ? capacity : nil
    }

    /// Removes the accesses of entries that are about to be erased. Accesses of entries that were evicted stay, because
    /// only their key prefixes are known; ``CacheSelection/all`` removes these, too.
    static func deleteAccesses(
        of selection: CacheSelection,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        guard selection != .all else { return try connection.run("DELETE FROM access") }
        let statement = try connection.statement(
            once: """
                DELETE FROM access WHERE key_prefix IN (SELECT key_prefix FROM entry WHERE \(sql: condition(selection)))
                """)
        try statement.run()
    }

    /// Chooses the sample for the next turn of the ring, and saves it.
    private static func turn(
        _ sampling: Sampling,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Sampling {
        let keys = try connection.integer("SELECT count(DISTINCT key_prefix) FROM access")
        let seconds = try connection.integer("SELECT max(second) - min(second) FROM access")
        let next = sampling.next(keys: keys, seconds: seconds)
        try saveFact(next.shift, named: "shift", on: connection)
        return next
    }

    /// Inserts an access. Its entry size is read from the entry's row, where the body is compressed and sealed. Without
    /// a valid row, the size in the access counts.
    ///
    /// - Parameter isSizeKnown: whether the access already has the size of the row, which saves two searches.
    private static func insert(
        _ access: CacheAccess,
        isSizeKnown: Bool,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        let size: SQL =
            if isSizeKnown { "\(access.entrySize)" } else {
                """
                coalesce((
                    SELECT body_size + length(headers) + \(CacheAccess.rowSize) FROM entry
                    WHERE key_prefix = \(access.prefix) AND variant = 0 AND is_partial = 0
                        AND body_size BETWEEN 0 AND \(largestBody)
                ), \(access.entrySize))
                """
            }
        try connection.run(
            """
            INSERT INTO access (key_prefix, body_size, entry_size, second, kind, uses, shift, passed_uses, passed_bytes)
            VALUES (\(access.prefix), \(access.bodySize), \(sql: size), \(access.second), \(access.kind.rawValue),
                \(access.uses), \(access.sampling.shift), \(access.passed.uses), \(access.passed.bytes))
            """
        )
    }

    private static func deleteAccesses(
        through id: Int64,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        try connection.run("DELETE FROM access WHERE id <= \(id)")
    }

    static func saveFact(
        _ value: Int64,
        named name: String,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        try connection.run(
            """
            INSERT INTO fact (name, value) VALUES (\(name), \(Data("\(value)".utf8)))
            ON CONFLICT (name) DO UPDATE SET value = excluded.value
            """
        )
    }
}

extension CacheAccess {
    enum Column: Int, SQLiteColumns {
        case keyPrefix, bodySize, entrySize, second, kind, uses, shift, passedUses, passedBytes

        fileprivate static let numbers = allCases.dropFirst()
    }

    /// Creates an access from a row; `nil` for values that Diamond never writes.
    fileprivate init?(row: borrowing SQLiteStatement) {
        let isSensible = Column.numbers.allSatisfy { CacheTable.times.contains(row.int64($0)) }
        // Headers are never as large as the largest body.
        let isOfEntry =
            row.int64(Column.bodySize) <= CacheTable.largestBody
            && row.int64(Column.entrySize) <= 2 * CacheTable.largestBody
        guard isSensible, isOfEntry, row.int64(Column.uses) > 0, let kind = Kind(rawValue: row.int64(Column.kind))
        else { return nil }
        self.init(
            prefix: row.int64(Column.keyPrefix), bodySize: row.int64(Column.bodySize),
            entrySize: row.int64(Column.entrySize), second: row.int64(Column.second), kind: kind)
        uses = row.int64(Column.uses)
        sampling = Sampling(shift: row.int64(Column.shift))
        passed = Passed(uses: row.int64(Column.passedUses), bytes: row.int64(Column.passedBytes))
    }
}
