import DiamondSQLite

/// The migration of files that were written before jobs had checksums, or edges to other jobs.
extension ReplayTable {
    /// Computes the checksums of the jobs that have none, and notes the codes of their last failed attempts.
    static func seal(on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        let ids = try connection.integers("SELECT id FROM job WHERE digest = 0 AND checksum = 0")
        for id in ids {
            guard let stored = try storedRow(id, withRequest: true, on: connection) else { continue }
            var row = stored.row
            row.digest = ReplayRow.digest(of: stored.request)
            try seal(row, on: connection)
        }
    }

    private static func seal(_ row: ReplayRow, on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        try connection.run(
            """
            UPDATE job SET digest = \(row.digest), checksum = \(row.checksum),
                failure = (SELECT code FROM attempt WHERE job = \(row.id) ORDER BY id DESC LIMIT 1)
            WHERE id = \(row.id)
            """
        )
    }

    // MARK: Objects without an id

    /// Whether rows of earlier versions were not linked yet.
    static func hasUnlinkedJobs(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Bool {
        try connection.integer("SELECT EXISTS (SELECT 1 FROM job INDEXED BY job_unlinked WHERE creates IS NULL)") != 0
    }

    /// Finds what the jobs of earlier versions create and wait for. They have it in their metadata.
    static func linkJobs(on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        let statement = try connection.statement(
            "SELECT id, reason FROM job INDEXED BY job_unlinked WHERE creates IS NULL")
        var jobs: [(id: Int64, reason: String)] = []
        while try statement.step() { jobs.append((statement.int64(0), statement.text(1))) }
        for (id, reason) in jobs {
            let metadata = try metadata(of: id, on: connection)
            var name: String?
            if case .string(let localID)? = metadata["localID"], metadata["model"] != nil {
                name = connection.stored(localID, .object)
            }
            let creates = metadata["call"] == "create" ? name ?? "" : ""
            try connection.run("UPDATE job SET creates = \(creates) WHERE id = \(id)")
            if reason == "awaitingID", let name { try addEdge(from: id, to: name, on: connection) }
        }
    }
}
