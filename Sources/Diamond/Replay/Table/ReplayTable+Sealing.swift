import DiamondSQLite
import Foundation

/// Sealing the rows of a queue that was in clear, or was sealed with an older key.
extension ReplayTable {
    /// The secret as a key has sealed it.
    struct SealedSecret {
        var keyID: String
        var value: Data
        /// Whether the file was rewritten since then.
        var isOverwritten: Bool
    }

    /// Returns the sealed secret; `nil` for a queue in clear.
    static func secret(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> SealedSecret? {
        let statement = try connection.statement("SELECT key_id, value, is_overwritten FROM secret WHERE value <> x''")
        guard try statement.step() else { return nil }
        return SealedSecret(
            keyID: statement.text(0), value: statement.data(1), isOverwritten: statement.int64(2) != 0)
    }

    static func hasSealedJobs(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Bool {
        try connection.integer("SELECT EXISTS (SELECT 1 FROM job WHERE details IS NOT NULL)") != 0
    }

    /// Whether another key has replaced a key.
    static func isReplaced(
        _ keyID: String, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Bool {
        let statement = try connection.statement("SELECT 1 FROM secret WHERE key_id = ? AND value = x''")
        try statement.bind(keyID, at: 1)
        return try statement.step()
    }

    /// Saves the secret in place of the one that an older key has sealed. The name of the older key stays.
    static func saveSecret(
        _ value: Data, keyID: String, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        try connection.statement("UPDATE secret SET value = x''").run()
        let statement = try connection.statement("INSERT OR REPLACE INTO secret (key_id, value) VALUES (?, ?)")
        try statement.bind(keyID, at: 1)
        try statement.bind(value, at: 2)
        try statement.run()
    }

    /// Notes that no value in clear is left in the file.
    static func setOverwritten(on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        try connection.statement("UPDATE secret SET is_overwritten = 1").run()
    }

    /// The status of the answer to a job whose outcome is not written, and the job's new row.
    struct ResealedAnswer {
        var status: Int
        var row: ReplayRow
    }

    /// Seals all values with the current key. Damaged jobs stay damaged. Sealed values that are not authentic, or
    /// have an unknown key, stay as they are.
    ///
    /// - Parameter wasSealed: whether the values were sealed; `false` if they are in clear.
    /// - Returns: the answers of running jobs, to be noted for their new rows.
    static func reseal(
        wasSealed: Bool, by sealing: ReplaySealing, answers: AnswerLog, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [ResealedAnswer] {
        var resealed: [ResealedAnswer] = []
        var last = Int64.min
        while case let ids = try ids(after: last, on: connection), let end = ids.last {
            for id in ids {
                let old = try row(id, on: connection)
                try resealJob(id, wasSealed: wasSealed, by: sealing, on: connection)
                if let old, old.state == .running, let status = answers.status(of: old),
                    let new = try row(id, on: connection)
                {
                    resealed.append(ResealedAnswer(status: status, row: new))
                }
                try resealFailures(of: id, wasSealed: wasSealed, by: sealing, on: connection)
                try resealAnswer(of: id, wasSealed: wasSealed, by: sealing, on: connection)
            }
            last = end
        }
        try resealHolds(on: connection)
        return resealed
    }

    // MARK: Jobs

    /// The columns of a job that are sealed.
    private struct SealableJob {
        var details: ReplayDetails
        var sealedDetails: Data?
        var uniqueKey: Data?
        var request: Data
        var digest: Int64
    }

    private static func resealJob(
        _ id: Int64, wasSealed: Bool, by sealing: ReplaySealing, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        guard var job = try sealableJob(id, on: connection) else { return }
        let isIntact = try storedRow(id, on: connection)?.isIntact == true
        let isRequestIntact = ReplayRow.digest(of: job.request) == job.digest
        if wasSealed {
            guard let details = try sealing.authenticDetails(job.sealedDetails, of: id) else { return }
            job.details = details
            if !job.request.isEmpty {
                guard let request = try sealing.opened(job.request, .request, of: "\(id)") else { return }
                job.request = request
            }
        }
        var stored = try StoredDetails(
            job.details, uniqueKey: job.uniqueKey, request: job.request, of: id, on: connection)
        // The secret is the same, so the digest is.
        if wasSealed { stored.uniqueKey = job.uniqueKey }
        try update(
            id, to: stored, digest: isRequestIntact ? ReplayRow.digest(of: stored.request) : job.digest, on: connection)
        if !wasSealed { try renameObjects(of: id, by: sealing, on: connection) }
        guard isIntact, let row = try storedRow(id, on: connection)?.row else { return }
        let statement = try connection.statement("UPDATE job SET checksum = ? WHERE id = ?")
        try statement.bind(row.checksum, at: 1)
        try statement.bind(id, at: 2)
        try statement.run()
    }

    /// Replaces the local ids in the row and the edges of a job by their digests.
    private static func renameObjects(
        of id: Int64, by sealing: ReplaySealing, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        for (sql, update) in [
            ("SELECT creates FROM job WHERE id = ? AND creates <> ''", "UPDATE job SET creates = ?3 WHERE id = ?1"),
            ("SELECT name FROM edge WHERE job = ?", "UPDATE edge SET name = ?3 WHERE job = ?1 AND name = ?2"),
        ] {
            let statement = try connection.statement(composed: sql)
            try statement.bind(id, at: 1)
            var names: [String] = []
            while try statement.step() { names.append(statement.text(0)) }
            for name in names {
                let rename = try connection.statement(composed: update)
                try rename.bind(id, at: 1)
                try rename.bind(name, at: 2)
                try rename.bind(sealing.digest(of: name, .object), at: 3)
                try rename.run()
            }
        }
    }

    /// Returns the shown values of a job as they were before they were sealed; `nil` if they are not authentic.
    static func details(of id: Int64, on connection: borrowing SQLiteConnection) throws(SQLiteError) -> ReplayDetails? {
        guard let job = try sealableJob(id, on: connection) else { return nil }
        guard let sealing = connection.sealing else { return job.details }
        return try sealing.authenticDetails(job.sealedDetails, of: id)
    }

    private static func sealableJob(
        _ id: Int64, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> SealableJob? {
        let statement = try connection.statement(
            """
            SELECT url, host, identity, ordering_key, tags, metadata, kind, idempotency_key, unique_key, details,
                digest, (SELECT request FROM payload WHERE job = job.id), (SELECT call FROM payload WHERE job = job.id)
            FROM job WHERE id = ?
            """
        )
        try statement.bind(id, at: 1)
        guard try statement.step() else { return nil }
        var details = ReplayDetails()
        details.url = statement.text(0)
        details.host = statement.text(1)
        details.identity = statement.optionalText(2)
        details.orderingKey = statement.optionalText(3)
        details.tags = statement.text(4)
        details.metadata = statement.text(5)
        details.kind = statement.optionalText(6)
        details.idempotencyKey = statement.optionalText(7)
        details.call = statement.optionalText(12)
        return SealableJob(
            details: details, sealedDetails: statement.isNull(9) ? nil : statement.data(9),
            uniqueKey: statement.isNull(8) ? nil : statement.data(8), request: statement.data(11),
            digest: statement.int64(10))
    }

    private static func update(
        _ id: Int64, to stored: StoredDetails, digest: Int64, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        let statement = try connection.statement(
            """
            UPDATE job SET url = ?2, host = ?3, identity = ?4, ordering_key = ?5, tags = ?6, metadata = ?7, kind = NULL,
                idempotency_key = NULL, unique_key = ?8, details = ?9, digest = ?10
            WHERE id = ?1
            """
        )
        try statement.bind(id, at: 1)
        try statement.bind(stored.columns.url, at: 2)
        try statement.bind(stored.columns.host, at: 3)
        try statement.bind(stored.columns.identity, at: 4)
        try statement.bind(stored.columns.orderingKey, at: 5)
        try statement.bind(stored.columns.tags, at: 6)
        try statement.bind(stored.columns.metadata, at: 7)
        try statement.bind(stored.uniqueKey, at: 8)
        try statement.bind(stored.sealed, at: 9)
        try statement.bind(digest, at: 10)
        try statement.run()
        let payload = try connection.statement("UPDATE payload SET request = ?, call = NULL WHERE job = ?")
        try payload.bind(stored.request, at: 1)
        try payload.bind(id, at: 2)
        try payload.run()
    }

    // MARK: Failures, answers and holds

    private static func resealFailures(
        of id: Int64, wasSealed: Bool, by sealing: ReplaySealing, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        let statement = try connection.statement("SELECT id, code, message, details FROM attempt WHERE job = ?")
        try statement.bind(id, at: 1)
        var failures: [(id: Int64, details: Data)] = []
        while try statement.step() {
            let subject = "\(id) \(statement.text(1))"
            let message =
                wasSealed
                ? try sealing.opened(statement.data(3), .failure, of: subject) : Data(statement.text(2).utf8)
            guard let message else { continue }
            failures.append((statement.int64(0), try sealing.sealed(message, .failure, of: subject)))
        }
        for failure in failures {
            let update = try connection.statement("UPDATE attempt SET message = '', details = ? WHERE id = ?")
            try update.bind(failure.details, at: 1)
            try update.bind(failure.id, at: 2)
            try update.run()
        }
    }

    private static func resealAnswer(
        of id: Int64, wasSealed: Bool, by sealing: ReplaySealing, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        guard case .answer(let answer) = try storedAnswer(of: id, on: connection) else {
            guard !wasSealed else { return }
            // A damaged answer stays damaged.
            let statement = try connection.statement(
                "UPDATE answer SET location = NULL, headers = NULL, body = NULL WHERE job = ? AND status IS NOT NULL")
            try statement.bind(id, at: 1)
            return try statement.run()
        }
        guard let clear = wasSealed ? try sealing.opened(answer, of: id) : answer else { return }
        try store(clear, of: id, at: answer.receivedAt.milliseconds, on: connection)
    }

    private static func resealHolds(on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        let statement = try connection.statement("SELECT kind, name, reason, details FROM hold")
        var holds: [(kind: String, stored: StoredHold)] = []
        while try statement.step() {
            let details = statement.isNull(3) ? nil : statement.data(3)
            holds.append(
                (statement.text(0), StoredHold(name: statement.text(1), reason: statement.text(2), details: details)))
        }
        for hold in holds {
            var clear = hold.stored
            // The name of a sealed hold that is not opened is a digest already.
            guard try clear.open(kind: hold.kind, on: connection) || hold.stored.details == nil else { continue }
            let new = try StoredHold(
                ReplayHold(kind: hold.kind, name: clear.name), reason: clear.reason, on: connection)
            let update = try connection.statement(
                "UPDATE hold SET name = ?, reason = ?, details = ? WHERE kind = ? AND name = ?")
            try update.bind(new.name, at: 1)
            try update.bind(new.reason, at: 2)
            try update.bind(new.details, at: 3)
            try update.bind(hold.kind, at: 4)
            try update.bind(hold.stored.name, at: 5)
            try update.run()
        }
    }
}
