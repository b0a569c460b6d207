#if Postgres && canImport(CDiamondPostgres)
package import Diamond
import DiamondSQLite
import Foundation

/// Writes. A group of steps is one transaction.
extension PostgresCacheStorage {
    /// The bytes of bodies after which another transaction begins.
    private static let groupSize = 8 << 20

    package func write(_ batch: CacheBatch) async throws(CacheError) -> CacheOutcome {
        var outcome = CacheOutcome()
        for group in batch.groups(of: Self.groupSize) { outcome.vanished += try await write(group) }
        return outcome
    }

    private func write(_ steps: ArraySlice<CacheStep>) async throws(CacheError) -> [RequestKey] {
        let start = watch.withLock { $0.start }
        var stores: [PostgresWrite] = []
        var confirmations: [CacheConfirmation] = []
        var erased: [RequestKey] = []
        var announced: Set<Int64> = []
        for step in steps {
            switch step {
            case .store(let record): stores.append(watch.withLock { PostgresWrite(record, $0) })
            case .confirm(let confirmation): confirmations.append(confirmation)
            case .erase(let key, let everywhere):
                erased.append(key)
                if everywhere { announced.insert(key.prefix) }
            }
        }
        let writes = try await PostgresWrites(stores: stores, confirmed: confirmed(confirmations))
        let (stored, gone) = try await ask { [erased, process] (connection) throws(PostgresError) in
            // In the order of the keys, so that two transactions do not wait for each other.
            let gone = erased.isEmpty ? [] : try Self.erase(erased, on: connection)
            return (try writes.run(by: process, on: connection), gone)
        }
        watch.withLock { watch in for write in writes.all { watch.hold(write.record, since: start) } }
        let done = writes.all.filter { stored[$0.record.key]?.matches($0.record) == true }.map(\.record.key)
        announced.formUnion(gone)
        announced.formUnion(done.filter { stored[$0]?.isReplacement == true }.map(\.prefix))
        announce(keys: announced)
        return (stores.map(\.record.key) + confirmations.map(\.key)).filter { !done.contains($0) }
    }

    /// Erases the records with some keys.
    ///
    /// - Returns: the prefixes of the keys of those that there were.
    private static func erase(
        _ keys: [RequestKey], on connection: PostgresConnection
    ) throws(PostgresError) -> [Int64] {
        try connection.rows(
            """
            WITH gone AS (DELETE FROM cache_record WHERE key = ANY(\(keys.map(\.bytes))) RETURNING key, prefix),
                chunks AS (DELETE FROM cache_chunk USING gone WHERE cache_chunk.key = gone.key)
            SELECT prefix FROM gone
            """
        ).map { $0.int64("prefix") }
    }

    /// Returns the records after some confirmations; without those whose stored record is another.
    private func confirmed(_ confirmations: [CacheConfirmation]) async throws(CacheError) -> [PostgresWrite] {
        guard !confirmations.isEmpty else { return [] }
        return try await ask { (connection) throws(PostgresError) in
            let rows = try connection.rows(
                """
                SELECT key, head, stale, is_stale, is_pinned, (SELECT coalesce(max(position), 0) FROM cache_change) AS seen
                FROM cached WHERE key = ANY(\(confirmations.map(\.key.bytes)))
                """)
            return rows.map { row -> PostgresWrite? in
                guard let old = CacheRecord(row), let confirmation = confirmations.first(where: { $0.key == old.key }),
                    let record = confirmation.record(replacing: old)
                else { return nil }
                return PostgresWrite(
                    record, replacing: old.version, wasStale: row.bool("is_stale"), seen: row.int64("seen"))
            }.compactMap(\.self)
        }
    }
}

/// The write of a record.
private struct PostgresWrite: Sendable {
    let record: CacheRecord
    var isStale = false
    /// The position of the newest change that was known when it was requested.
    var known: Int64?
    /// The version that the stored record must have; `nil` for any.
    var version: Int64?
    /// Whether the stored record may be marked stale.
    var wasStale = false
    /// The position at which the stored record was read: its names must not have changed since.
    var seen: Int64?

    init(_ record: CacheRecord, _ watch: PostgresWatch) {
        self.record = record
        isStale = record.isStale || watch.log.isOutdated(record)
        known = watch.known(by: record)
    }

    init(_ record: CacheRecord, replacing version: Int64, wasStale: Bool, seen: Int64) {
        self.record = record
        self.version = version
        self.wasStale = wasStale
        self.seen = seen
    }

    /// The body as part of the row; `nil` if its chunks have rows of their own.
    var body: Data? { record.bodySize <= 64 << 10 && record.chunks.count == 1 ? record.chunks[0] : nil }
}

/// The writes of a group, of different records.
private struct PostgresWrites: Sendable {
    /// A record after the writes.
    struct Stored: Sendable {
        let version: Int64
        let isStale: Bool
        let isReplacement: Bool

        /// Whether it is what was to be written.
        func matches(_ record: CacheRecord) -> Bool { version == record.version && !isStale }
    }

    let stores: [PostgresWrite]
    let confirmed: [PostgresWrite]

    init(stores: [PostgresWrite], confirmed: [PostgresWrite]) {
        // In the order of the keys, so that two transactions do not wait for each other.
        self.stores = stores.sorted { $0.record.key.bytes.lexicographicallyPrecedes($1.record.key.bytes) }
        self.confirmed = confirmed.sorted { $0.record.key.bytes.lexicographicallyPrecedes($1.record.key.bytes) }
    }

    var all: [PostgresWrite] { stores + confirmed }

    /// Writes all, and returns the records that are then stored under their keys. One round trip.
    func run(by process: Int64, on connection: PostgresConnection) throws(PostgresError) -> [RequestKey: Stored] {
        guard !all.isEmpty else { return [:] }
        if !stores.isEmpty { try store(by: process, on: connection) }
        if !confirmed.isEmpty { try confirm(on: connection) }
        let rows = try connection.rows(
            """
            SELECT key, version, stale, is_replacement FROM cached WHERE key = ANY(\(all.map(\.record.key.bytes)))
            """)
        var stored: [RequestKey: Stored] = [:]
        for row in rows.map({ $0 }) {
            guard let key = RequestKey(stored: row.data("key")) else { continue }
            stored[key] = Stored(
                version: row.int64("version"), isStale: row.bool("stale"),
                isReplacement: row.bool("is_replacement"))
        }
        return stored
    }

    private func store(by process: Int64, on connection: PostgresConnection) throws(PostgresError) {
        let chunks = stores.filter { $0.body == nil }.flatMap { write in
            write.record.chunks.enumerated().map { (record: write.record, number: $0.offset, data: $0.element) }
        }
        if !chunks.isEmpty {
            try connection.run(
                """
                INSERT INTO cache_chunk (key, body, number, data)
                SELECT * FROM unnest(\(chunks.map(\.record.key.bytes)), \(chunks.map(\.record.bodyNumber)),
                    \(chunks.map(\.number)), \(chunks.map(\.data)))
                ON CONFLICT DO NOTHING
                """)
        }
        // The times are the rule of CacheRecord.isNewer(than:).
        try connection.run(
            """
            INSERT INTO cache_record AS old (\(Self.columns), body, is_stale, position)
            SELECT \(Self.columns), body,
                is_stale OR EXISTS (
                    SELECT FROM cache_stamp
                    WHERE name = ANY (names) AND invalidated > known AND changer <> \(process)),
                (SELECT coalesce(max(position), 0) FROM cache_change)
            FROM \(Self.table(of: stores)) AS new
            ON CONFLICT (key) DO UPDATE SET (\(Self.columns), body, is_stale, position, is_replacement) =
                (\(Self.excluded), excluded.body, excluded.is_stale, excluded.position, true)
            WHERE old.stored_at <= excluded.sent_at
                OR (old.origin_time, old.sent_at) <= (excluded.origin_time, excluded.sent_at)
            """)
        try connection.run(
            """
            DELETE FROM cache_chunk AS chunk USING cache_record AS record
            WHERE record.key = ANY(\(stores.map(\.record.key.bytes))) AND chunk.key = record.key
                AND (chunk.body <> record.body_id OR record.body IS NOT NULL)
            """)
    }

    private func confirm(on connection: PostgresConnection) throws(PostgresError) {
        try connection.run(
            """
            UPDATE cache_record AS old SET (\(Self.columns), is_stale, position, is_replacement) =
                (\(Self.new), false, new.seen, true)
            FROM \(Self.table(of: confirmed)) AS new
            WHERE old.key = new.key AND old.version = new.expected AND (new.was_stale OR NOT old.is_stale)
                AND NOT EXISTS (SELECT FROM cache_stamp WHERE name = ANY (old.names) AND invalidated > new.seen)
            """)
    }

    // MARK: Columns

    private static let columns: PostgresSQL = """
        key, request_key, prefix, version, names, url, is_response, stored_at, origin_time, sent_at, expiry, retention,
        body_id, body_size, size, head
        """
    private static let excluded: PostgresSQL = """
        excluded.key, excluded.request_key, excluded.prefix, excluded.version, excluded.names, excluded.url,
        excluded.is_response, excluded.stored_at, excluded.origin_time, excluded.sent_at, excluded.expiry,
        excluded.retention, excluded.body_id, excluded.body_size, excluded.size, excluded.head
        """
    private static let new: PostgresSQL = """
        new.key, new.request_key, new.prefix, new.version, new.names, new.url, new.is_response, new.stored_at,
        new.origin_time, new.sent_at, new.expiry, new.retention, new.body_id, new.body_size, new.size, new.head
        """

    /// The rows of writes, with their names from a list of pairs: PostgreSQL has no arrays of arrays of different sizes.
    private static func table(of writes: [PostgresWrite]) -> PostgresSQL {
        let records = writes.map(\.record)
        let heads = records.map(\.head)
        let names = records.enumerated().flatMap { index, record in
            ([CacheName.all] + record.names.map(CacheName.init)).map { (row: index, name: $0.number) }
        }
        return """
            (SELECT row.*, (SELECT array_agg(name) FROM unnest(\(names.map(\.row)), \(names.map(\.name)))
                AS pair (number, name) WHERE pair.number = row.number) AS names
            FROM unnest(\(Array(records.indices)), \(records.map(\.key.bytes)), \(records.map(\.requestKey.bytes)),
                \(records.map(\.key.prefix)), \(records.map(\.version)), \(records.map(\.url)), \(records.map(\.isResponse)),
                \(records.map(\.storedAt)), \(records.map(\.originTime)), \(records.map(\.sentAt)),
                \(records.map(\.expiry)), \(records.map(\.retention)), \(records.map(\.bodyNumber)),
                \(records.map(\.bodySize)), \(zip(records, heads).map { $0.bodySize + $1.count }), \(heads),
                \(writes.map(\.body)), \(writes.map(\.isStale)), \(writes.map(\.known)), \(writes.map(\.version)),
                \(writes.map(\.wasStale)), \(writes.map(\.seen)))
                AS row (number, key, request_key, prefix, version, url, is_response, stored_at, origin_time, sent_at, expiry,
                    retention, body_id, body_size, size, head, body, is_stale, known, expected, was_stale, seen))
            """
    }
}
#endif
