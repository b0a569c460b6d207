package import DiamondSQLite
package import Foundation

/// The statements for sealed rows.
extension CacheTable {
    /// Returns the entry in its rows, opened. The caller has read the first row.
    ///
    /// - Parameters:
    ///   - request: the requested canonical form; `nil` for any.
    ///   - isPartial: whether the row's column says that the entry is partial.
    static func verified(
        _ rows: borrowing SQLiteStatement,
        key: RequestKey,
        request: [UInt8]?,
        sealing: Sealing,
        isPartial: Bool = false
    ) throws(SQLiteError) -> LookupResult {
        guard hasKey(key, in: rows) else { return .nothing }
        guard !rows.isNull(Column.seal) else { return .locked(.inClear) }
        let row = Sealing.Row(
            keyID: rows.text(Column.seal), request: rows.data(Column.request), bodySize: rows.int64(Column.bodySize),
            digest: rows.data(Column.bodyDigest))
        let result = try verified(rows, key: key, request: Array(row.request), isPartial: isPartial)
        guard case .entry(let stored, let isVisited) = result else { return result }
        do {
            let opened = try sealing.open(stored, row: row, key: key, for: request)
            return opened.map { .entry($0, isVisited: isVisited) } ?? .nothing
        } catch {
            return LookupResult(error, keyID: row.keyID)
        }
    }

    /// Returns the result for a row with another request or a sealed one, in a process without a seal.
    static func unreadable(_ rows: borrowing SQLiteStatement, key: RequestKey) -> LookupResult {
        guard !rows.isNull(Column.seal), hasKey(key, in: rows) else { return .nothing }
        return .locked(.sealed(keyID: rows.text(Column.seal)))
    }

    private static func hasKey(_ key: RequestKey, in row: borrowing SQLiteStatement) -> Bool {
        row.withBytes(Column.key) { $0.elementsEqual(key.bytes) }
    }

    // MARK: Rows without their bodies

    /// A sealed row without its body.
    struct SealedRow {
        var id: Int64
        var row: Sealing.Row
        var stored: StoredResponse

        /// Whether it may be the row of a response: it has the same time, and was not invalidated since.
        func confirms(_ response: StoredResponse) -> Bool {
            stored.storedAt == response.storedAt
                && stored.flags.intersection(.invalidated).isSubset(of: response.flags)
        }

        /// Whether the row was not written since another read: each sealing of the same headers gives other bytes.
        func isUnchanged(since other: Self) -> Bool { id == other.id && stored.headerBlock == other.stored.headerBlock }
    }

    /// Returns the sealed row of a key; `nil` if there is none, or it is in clear.
    static func sealedRow(
        _ key: RequestKey,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> SealedRow? {
        let statement = try connection.statement(
            """
            SELECT key, request, status, headers, stored_at, initial_age, lifetime, flags, duration, body_size,
                body_digest, checksum, is_visited, NULL AS chunk_checksum, NULL AS bytes, seal, id
            FROM entry WHERE key_prefix = \(key.prefix) AND variant = 0 AND is_partial = 0 AND key = \(key.bytes)
                AND seal IS NOT NULL
            """, columns: Column.self
        )
        guard try statement.step(), let stored = StoredResponse(row: statement) else { return nil }
        let row = Sealing.Row(
            keyID: statement.text(Column.seal), request: statement.data(Column.request),
            bodySize: statement.int64(Column.bodySize),
            digest: statement.data(Column.bodyDigest))
        return SealedRow(id: statement.int64(Column.id), row: row, stored: stored)
    }

    /// The stored request of an entry.
    struct StoredRequest {
        /// `nil` in clear.
        var seal: String?
        var bytes: Data
    }

    static func request(
        of key: RequestKey,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> StoredRequest? {
        let statement = try connection.statement(
            "SELECT seal, request FROM entry WHERE key_prefix = \(key.prefix) AND key = \(key.bytes)")
        guard try statement.step() else { return nil }
        return StoredRequest(seal: statement.isNull(0) ? nil : statement.text(0), bytes: statement.data(1))
    }

    package static func seals(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> [String: Int] {
        let statement = try connection.statement(
            "SELECT seal, count(*) FROM entry WHERE seal IS NOT NULL GROUP BY seal")
        var seals: [String: Int] = [:]
        while try statement.step() { seals[statement.text(0)] = Int(statement.int64(1)) }
        return seals
    }

    /// A sealed value of a row, to try a key with.
    struct SealedSample {
        var keyID: String
        var key: RequestKey
        var bytes: Data
        var column: Sealing.Column
    }

    /// Returns a sealed value for each key that has sealed rows.
    static func sealedSamples(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> [SealedSample] {
        let statement = try connection.statement(
            """
            SELECT seal, key, request, 0 FROM entry WHERE seal IS NOT NULL GROUP BY seal
            UNION ALL SELECT seal, key, headers, 1 FROM download WHERE seal IS NOT NULL GROUP BY seal
            """
        )
        var samples: [SealedSample] = []
        while try statement.step() {
            guard let key = RequestKey(stored: statement.data(1)) else { continue }
            samples.append(
                SealedSample(
                    keyID: statement.text(0), key: key, bytes: statement.data(2),
                    column: statement.int64(3) == 0 ? .request : .download))
        }
        return samples
    }

    // MARK: Identities

    /// Replaces the identities of all sealed entries by empty texts: their digests are those of a lost secret. An entry
    /// whose identity is unknown is erased with every identity.
    static func clearSealedIdentities(on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        try connection.run("UPDATE entry SET identity = '' WHERE identity IS NOT NULL AND seal IS NOT NULL")
    }

    // MARK: The secret

    /// Returns the store's secret as each key has sealed it, by the names of the keys.
    package static func sealedSecrets(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> [String: Data] {
        let statement = try connection.statement(
            "SELECT substr(name, 8), value FROM fact WHERE name > 'secret ' AND name < 'secret!'")
        var secrets: [String: Data] = [:]
        while try statement.step() { secrets[statement.text(0)] = statement.data(1) }
        return secrets
    }

    /// Saves a sealed secret, if the key has sealed none, or one that cannot be opened.
    package static func saveSecret(
        _ sealed: Data,
        keyID: String,
        replacing damaged: Data?,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        try connection.run(
            """
            INSERT INTO fact (name, value) VALUES ('secret ' || \(keyID), \(sealed))
            ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE value IS \(damaged)
            """
        )
    }

    static func deleteSecrets(
        exceptOf keyID: String, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        try connection.run(
            "DELETE FROM fact WHERE name > 'secret ' AND name < 'secret!' AND name <> 'secret ' || \(keyID)")
    }

    static func deleteSecret(keyID: String, on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        try connection.run("DELETE FROM fact WHERE name = 'secret ' || \(keyID)")
    }
}

extension CacheTable.LookupResult {
    init(_ error: any Error, keyID: String) {
        switch (error as? CacheSealError)?.code {
        case .notAuthentic: self = .damaged(reason: "its seal is broken")
        case .unknownKey: self = .locked(.unknownKey(keyID))
        default: self = .locked(.failure(CacheSealError.reason(of: error)))
        }
    }
}
