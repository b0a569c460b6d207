package import DiamondSQLite
import Foundation

/// The statements of the table `download`.
extension CacheTable {
    /// A row of the table, sound or damaged.
    package struct DownloadRow: Sendable {
        package var id: Int64
        package var target: String
        package var part: String
        /// The download; `nil` if the row has a wrong checksum, or values that Diamond never writes.
        package var download: KeptDownload?

        /// The path of the part file; `nil` if Diamond writes no such name.
        package var path: String? { PartFile.path(ofKept: part, for: target) }

        fileprivate init(id: Int64, target: String, part: String) {
            self.id = id
            self.target = target
            self.part = part
        }

        init(_ download: KeptDownload) {
            self.init(id: download.id, target: download.target, part: download.part)
            self.download = download
        }
    }

    /// Returns the rows of a key and a target, the one with the most bytes first. Sealed rows do not show their target:
    /// those of the key are among them.
    static func downloads(
        of key: RequestKey,
        to target: String,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [DownloadRow] {
        let condition: SQL = """
            key_prefix = \(key.prefix) AND key = \(key) AND (target = \(target) OR seal IS NOT NULL)
            """
        return try downloads(where: "\(sql: condition) ORDER BY size DESC, id", on: connection)
    }

    /// Returns all rows, the oldest first.
    package static func downloads(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> [DownloadRow] {
        try downloads(where: "TRUE ORDER BY id", on: connection)
    }

    /// Returns a row; `nil` if there is none any more.
    package static func download(
        _ id: Int64,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> DownloadRow? {
        try downloads(where: "id = \(id)", on: connection).first
    }

    private static func downloads(
        where condition: SQL,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [DownloadRow] {
        let statement = try connection.statement(
            once: """
                SELECT id, key, request, url, method, identity, status, headers, received_at, target, part, size,
                    written_at, checksum, key_prefix, digest, seal
                FROM download WHERE \(sql: condition)
                """, columns: DownloadRow.Column.self)
        return try statement.rows { DownloadRow(row: $0) }
    }

    // MARK: Writing

    /// - Returns: the row's id.
    static func insert(
        _ download: KeptDownload,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Int64 {
        try connection.run(
            """
            INSERT INTO download (key_prefix, key, request, url, method, identity, status, headers, received_at, target,
                part, size, written_at, checksum, digest, seal)
            VALUES (\(download.key.prefix), \(download.key.bytes), \(download.request, isText: true), \(download.url),
                \(download.method), \(download.identity), \(download.status), \(download.headerBlock),
                \(download.receivedAt), \(download.target), \(download.part), \(download.size), \(download.writtenAt),
                \(download.checksum), \(download.digest), \(download.keyID))
            """
        )
        return connection.lastInsertedID
    }

    /// Writes a larger size into a row, and seals it again, unless another process has erased it.
    ///
    /// - Returns: whether the row is there.
    static func update(
        _ download: KeptDownload,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Bool {
        try connection.run(
            """
            UPDATE download SET size = \(download.size), written_at = \(download.writtenAt),
                checksum = \(download.checksum), digest = \(download.digest), headers = \(download.headerBlock),
                seal = \(download.keyID)
            WHERE id = \(download.id) AND part = \(download.part)
            """
        )
        return connection.changes > 0
    }

    /// Removes a row, unless another file of the cache has another row with its id.
    ///
    /// - Returns: whether the row was there.
    @discardableResult
    package static func delete(
        _ row: DownloadRow,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Bool {
        try connection.run("DELETE FROM download WHERE id = \(row.id) AND part = \(row.part)")
        return connection.changes > 0
    }

    /// Erases the rows of a selection; of sealed rows, only those that are selected by values in clear. Downloads have
    /// no tags, and do not expire.
    ///
    /// - Returns: the paths of their part files.
    static func eraseDownloads(
        _ selection: CacheSelection,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [String] {
        guard let condition = downloadCondition(selection) else { return [] }
        let rows = try downloads(where: condition, on: connection)
        for row in rows { try delete(row, on: connection) }
        if case .identity = selection.criterion, !rows.isEmpty { try note(.signOut, on: connection) }
        return rows.compactMap(\.path)
    }

    private static func downloadCondition(_ selection: CacheSelection) -> SQL? {
        switch selection.criterion {
        case .all, .key, .keys(_, isPartial: nil), .identity, .url: condition(selection)
        case .storedBefore(let time): "written_at < \(time)"
        case .urlPrefix(let prefix): urls(beginningWith: [prefix])
        case .host(let host): urls(beginningWith: prefixes(ofHost: host))
        case .keys, .tag, .expired, .sealedHost, .sealedIdentities: nil
        }
    }
}

extension CacheTable.DownloadRow {
    enum Column: Int, SQLiteColumns {
        case id, key, request, url, method, identity, status, headers, receivedAt, target, part, size, writtenAt
        case checksum, keyPrefix, digest, seal
    }

    fileprivate init(row: borrowing SQLiteStatement) {
        self.init(id: row.int64(Column.id), target: row.text(Column.target), part: row.text(Column.part))
        let numbers = [Column.receivedAt, .size, .writtenAt].map { row.int64($0) }
        guard let key = RequestKey(stored: row.data(Column.key)), key.prefix == row.int64(Column.keyPrefix),
            (100...999).contains(row.int64(Column.status)), numbers.allSatisfy(CacheTable.times.contains)
        else { return }
        let head = StoredResponse(
            status: Int(row.int64(Column.status)), headerBlock: row.data(Column.headers), body: Data(),
            storedAt: row.time(Column.receivedAt), initialAge: 0, lifetime: nil, flags: [])
        let entry = CacheEntry(
            key: key, request: Array(row.data(Column.request)), url: row.text(Column.url),
            method: row.text(Column.method), identity: row.optionalText(Column.identity), stored: head)
        var known = KeptDownload(
            entry, part: part, for: target, size: Int(row.int64(Column.size)), writtenAt: row.time(Column.writtenAt))
        known.id = id
        known.digest = row.data(Column.digest)
        known.keyID = row.optionalText(Column.seal)
        if known.checksum == row.int64(Column.checksum) { download = known }
    }
}
