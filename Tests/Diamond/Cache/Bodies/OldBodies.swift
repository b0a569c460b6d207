import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation

@testable import Diamond

extension TemporaryStore {
    /// Gives all entries in clear the form of version 3 of the schema: SHA-256 of their bodies.
    func writeOldDigests() throws {
        try SQLiteDatabase(path: store.cachePath, configuration: .ofCacheFile).write {
            (connection) throws(SQLiteError) in
            for id in try CacheTable.ids(after: 0, on: connection) {
                try writeOldDigest(of: id, try oldDigests(of: id, on: connection), on: connection)
            }
            try connection.execute("PRAGMA user_version = 3")
        }
    }

    private func oldDigests(
        of id: Int64, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [Data] {
        let rows = try connection.statement(composed: "SELECT id, bytes FROM body WHERE id >> 20 = \(id) ORDER BY id")
        var digests: [Data] = []
        while try rows.step() {
            digests.append(rows.withBytes(1) { Data(Checksum.digest(of: $0)) })
            try connection.run("UPDATE body SET checksum = \(digests.last) WHERE id = \(rows.int64(0))")
        }
        return digests
    }

    private func writeOldDigest(
        of id: Int64, _ digests: [Data], on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        let row = try connection.statement(
            composed: """
                SELECT key, request, status, headers, stored_at, initial_age, lifetime, flags, duration, body_size
                FROM entry WHERE id = \(id) AND seal IS NULL
                """)
        guard try row.step(), let key = RequestKey(stored: row.data(0)), let stored = StoredResponse(row: row)
        else { return }
        let digest = Checksum.digest(ofChunks: digests)
        let checksum = Checksum.row(
            key: key, request: Array(row.data(1)), stored: stored, bodySize: row.int64(9), digest: digest)
        try connection.run("UPDATE entry SET body_digest = \(digest), checksum = \(checksum) WHERE id = \(id)")
    }

    /// The number of entries whose bodies have SHA-256.
    func oldEntries() throws -> Int64 { try rows("entry WHERE length(body_digest) = 32") }
}
