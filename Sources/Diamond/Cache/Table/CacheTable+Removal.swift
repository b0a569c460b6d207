import DiamondSQLite

/// Erasing entries, and marking them stale. The caller notifies other processes even if no row is found: entries
/// evicted from the file may be in their memory.
extension CacheTable {
    /// The rows of one transaction. It lasts some milliseconds, and others write in between.
    static let sliceSize = 256

    /// - Parameter everywhere: whether every process drops the entry from its memory, also if there is no row; `false`
    ///   if this process keeps it there.
    static func delete(
        _ key: RequestKey,
        everywhere: Bool = false,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        let isErased = try erase(where: "key_prefix = \(key.prefix) AND key = \(key)", on: connection)
        if everywhere || isErased { try addChange(of: key.prefix, on: connection) }
    }

    /// Whether there is an entry under a key.
    static func has(_ key: RequestKey, on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Bool {
        try connection.hasRow("SELECT 1 FROM entry WHERE key_prefix = \(key.prefix) AND key = \(key)")
    }

    /// Erases some of the entries, no more than the log has room for.
    ///
    /// - Returns: the number of erased rows, and whether these were the last entries.
    static func deleteSlice(
        _ selection: CacheSelection,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> (count: CacheRecordCount, isLast: Bool) {
        let (ids, count, isLast) = try slice(of: selection, on: connection)
        try delete(ids, on: connection)
        if case .identity = selection.criterion, !ids.isEmpty { try note(.signOut, on: connection) }
        return (count, isLast)
    }

    private static func slice(
        of selection: CacheSelection,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> (ids: [Int64], count: CacheRecordCount, isLast: Bool) {
        let statement = try connection.statement(
            once: "SELECT id, body_size, flags FROM \(sql: rows(of: selection)) LIMIT \(sliceSize)")
        var ids: [Int64] = []
        var count = CacheRecordCount()
        var bytes: Int64 = 0
        while bytes < sliceBytes {
            guard try statement.step() else { return (ids, count, ids.count < sliceSize) }
            ids.append(statement.int64(0))
            bytes += weight(ofBody: statement.int64(1))
            count.add(flags: statement.int64(2))
        }
        return (ids, count, false)
    }

    /// Returns the SQL for the rows of a selection. The rows of a tag are looked up as far as they are read: with a
    /// condition, each slice would look up all rows of the tag.
    private static func rows(of selection: CacheSelection) -> SQL {
        guard case .tag(let name) = selection.criterion else { return "entry WHERE \(sql: condition(selection))" }
        return "tag CROSS JOIN entry ON entry.id = tag.entry WHERE name = \(name)"
    }

    /// Erases tags, and some of the rows of bodies, that no entry has: damage may have left them.
    ///
    /// - Returns: whether these were the last.
    static func deleteOrphanSlice(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Bool {
        try connection.run("DELETE FROM tag WHERE entry NOT IN (SELECT id FROM entry)")
        let limit = sliceBytes / Int64(chunkSize)
        try connection.run(
            """
            DELETE FROM body WHERE id IN (
                SELECT id FROM body WHERE id >> 20 NOT IN (SELECT id FROM entry) LIMIT \(limit))
            """
        )
        return connection.changes < limit
    }

    /// Returns the rows of the entries that are not marked stale, all at once. If each transaction looked for them
    /// again, it would pass over the rows marked by then, which takes minutes among a million.
    static func valid(
        _ selection: CacheSelection,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [Int64] {
        let statement = try connection.statement(
            once: "SELECT id FROM entry WHERE (\(sql: condition(selection))) AND flags & 8 = 0")
        // Sorted, so that rows next to each other on disk are written together.
        return try statement.rows { $0.int64(0) }.sorted()
    }

    /// Marks rows stale, whatever their lifetime; their validators stay. If a row belongs to another entry by now, that
    /// entry is revalidated once unnecessarily.
    ///
    /// - Returns: the number of newly marked rows.
    static func invalidate(
        _ ids: some Sequence<Int64>,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> CacheRecordCount {
        var count = CacheRecordCount()
        for id in ids {
            let statement = try connection.statement(
                "UPDATE entry SET flags = flags | 8 WHERE id = \(id) AND flags & 8 = 0 RETURNING flags")
            while try statement.step() { count.add(flags: statement.int64(0)) }
        }
        return count
    }

    /// Returns the number of responses in a selection.
    ///
    /// - Parameter onlyValid: whether those that are marked stale are left out.
    static func count(
        _ selection: CacheSelection,
        onlyValid: Bool = false,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Int {
        let uncounted: StoredResponse.Flags = onlyValid ? [.variants, .invalidated] : .variants
        let statement = try connection.statement(
            once: """
                SELECT count(*) FROM entry
                WHERE (\(sql: condition(selection))) AND flags & \(uncounted.rawValue) = 0
                """)
        return try statement.step() ? Int(statement.int64(0)) : 0
    }

    /// Protects an entry from eviction, or ends the protection.
    ///
    /// - Returns: the number of entries, 0 or 1.
    static func setPinned(
        _ isPinned: Bool,
        for key: RequestKey,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Int {
        let flag = isPinned ? StoredResponse.Flags.pinned : []
        try connection.run(
            """
            UPDATE entry SET flags = (flags & ~16) | \(flag.rawValue)
            WHERE key_prefix = \(key.prefix) AND key = \(key) AND is_partial = 0
            """
        )
        return connection.changes
    }

    // MARK: Conditions

    /// Returns the SQL condition for a selection. Each uses an index.
    static func condition(_ selection: CacheSelection) -> SQL {
        switch selection.criterion {
        case .all: "TRUE"
        case .key(let key): "key_prefix = \(key.prefix) AND key = \(key)"
        case .keys(let keys, isPartial: nil): condition(keys)
        case .keys(let keys, isPartial: let isPartial?): "\(sql: condition(keys)) AND is_partial = \(isPartial)"
        case .tag(let name): "id IN (SELECT entry FROM tag WHERE name = \(name))"
        case .identity(let identity): "identity = \(identity)"
        case .storedBefore(let time): "stored_at < \(time)"
        case .url(let url): "url = \(url)"
        case .expired(let time): "lifetime IS NOT NULL AND flags & 18 = 0 AND expires_at < \(time)"
        case .urlPrefix(let prefix): urls(beginningWith: [prefix], where: "seal IS NULL")
        case .host(let host): urls(beginningWith: prefixes(ofHost: host), where: "seal IS NULL")
        case .sealedHost(let digest): urls(beginningWith: [digest + "/"], where: "seal IS NOT NULL")
        case .sealedIdentities(let keyIDs):
            """
            identity IS NOT NULL AND seal IS NOT NULL
                AND (identity = '' OR seal IN (\(sql: keyIDs.map { "\($0)" }.joined(by: ", "))))
            """
        }
    }

    private static func condition(_ keys: [RequestKey]) -> SQL {
        let prefixes: [SQL] = keys.map { "\($0.prefix)" }
        let values: [SQL] = keys.map { "\($0)" }
        return "key_prefix IN (\(sql: prefixes.joined(by: ", "))) AND key IN (\(sql: values.joined(by: ", ")))"
    }

    /// Returns the beginnings of the URLs of a host, with any scheme and port.
    static func prefixes(ofHost host: String) -> [String] {
        ["http", "https"].flatMap { ["\($0)://\(host)/", "\($0)://\(host):"] }
    }

    /// Returns the condition for rows whose URL column begins with a prefix.
    ///
    /// - Parameter seal: the condition for sealed or clear rows: the URL column of a sealed row has digests.
    static func urls(beginningWith prefixes: [String], where seal: SQL = "TRUE") -> SQL {
        // The last character of Unicode is the largest of all that can follow.
        let ranges: [SQL] = prefixes.map { "(url >= \($0) AND url < \($0 + "\u{10FFFF}"))" }
        return "(\(sql: ranges.joined(by: " OR "))) AND \(sql: seal)"
    }
}
