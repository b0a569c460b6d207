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
            let chunk = try connection.statement("UPDATE body SET checksum = ? WHERE id = ?")
            try chunk.bind(digests.last, at: 1)
            try chunk.bind(rows.int64(0), at: 2)
            try chunk.run()
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
        let entry = try connection.statement("UPDATE entry SET body_digest = ?, checksum = ? WHERE id = ?")
        try entry.bind(digest, at: 1)
        try entry.bind(
            Checksum.row(
                key: key, request: Array(row.data(1)), stored: stored, bodySize: row.int64(9), digest: digest), at: 2)
        try entry.bind(id, at: 3)
        try entry.run()
    }

    /// The number of entries whose bodies have SHA-256.
    func oldEntries() throws -> Int64 { try rows("entry WHERE length(body_digest) = 32") }
}
