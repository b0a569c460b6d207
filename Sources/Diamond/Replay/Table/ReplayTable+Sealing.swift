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
        try connection.hasRow("SELECT 1 FROM secret WHERE key_id = \(keyID) AND value = x''")
    }

    /// Saves the secret in place of the one that an older key has sealed. The name of the older key stays.
    static func saveSecret(
        _ value: Data, keyID: String, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        try connection.run("UPDATE secret SET value = x''")
        try connection.run("INSERT OR REPLACE INTO secret (key_id, value) VALUES (\(keyID), \(value))")
    }

    /// Notes that no value in clear is left in the file.
    static func setOverwritten(on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        try connection.run("UPDATE secret SET is_overwritten = 1")
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
    struct SealableJob {
        enum Column: Int, SQLiteColumns {
            case url, host, identity, orderingKey, tags, metadata, kind, idempotencyKey, uniqueKey, details, digest
            case request, call
        }

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
        try connection.run("UPDATE job SET checksum = \(row.checksum) WHERE id = \(id)")
    }

    /// Replaces the local ids in the row and the edges of a job by their digests.
    private static func renameObjects(
        of id: Int64, by sealing: ReplaySealing, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        let created: SQL = "SELECT creates FROM job WHERE id = \(id) AND creates <> ''"
        for name in try connection.rows(created, { $0.text(0) }) {
            try connection.run("UPDATE job SET creates = \(sealing.digest(of: name, .object)) WHERE id = \(id)")
        }
        for name in try connection.rows("SELECT name FROM edge WHERE job = \(id)", { $0.text(0) }) {
            let digest = sealing.digest(of: name, .object)
            try connection.run("UPDATE edge SET name = \(digest) WHERE job = \(id) AND name = \(name)")
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
                digest, (SELECT request FROM payload WHERE job = job.id) AS request,
                (SELECT call FROM payload WHERE job = job.id) AS call
            FROM job WHERE id = \(id)
            """, columns: SealableJob.Column.self
        )
        guard try statement.step() else { return nil }
        var details = ReplayDetails()
        details.url = statement.text(SealableJob.Column.url)
        details.host = statement.text(SealableJob.Column.host)
        details.identity = statement.optionalText(SealableJob.Column.identity)
        details.orderingKey = statement.optionalText(SealableJob.Column.orderingKey)
        details.tags = statement.text(SealableJob.Column.tags)
        details.metadata = statement.text(SealableJob.Column.metadata)
        details.kind = statement.optionalText(SealableJob.Column.kind)
        details.idempotencyKey = statement.optionalText(SealableJob.Column.idempotencyKey)
        details.call = statement.optionalText(SealableJob.Column.call)
        return SealableJob(
            details: details, sealedDetails: statement.optionalData(SealableJob.Column.details),
            uniqueKey: statement.optionalData(SealableJob.Column.uniqueKey),
            request: statement.data(SealableJob.Column.request),
            digest: statement.int64(SealableJob.Column.digest))
    }

    private static func update(
        _ id: Int64, to stored: StoredDetails, digest: Int64, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        try connection.run(
            """
            UPDATE job SET url = \(stored.columns.url), host = \(stored.columns.host),
                identity = \(stored.columns.identity), ordering_key = \(stored.columns.orderingKey),
                tags = \(stored.columns.tags), metadata = \(stored.columns.metadata), kind = NULL,
                idempotency_key = NULL, unique_key = \(stored.uniqueKey), details = \(stored.sealed), digest = \(digest)
            WHERE id = \(id)
            """
        )
        try connection.run("UPDATE payload SET request = \(stored.request), call = NULL WHERE job = \(id)")
    }

    // MARK: Failures, answers and holds

    private static func resealFailures(
        of id: Int64, wasSealed: Bool, by sealing: ReplaySealing, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        let statement = try connection.statement("SELECT id, code, message, details FROM attempt WHERE job = \(id)")
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
            try connection.run("UPDATE attempt SET message = '', details = \(failure.details) WHERE id = \(failure.id)")
        }
    }

    private static func resealAnswer(
        of id: Int64, wasSealed: Bool, by sealing: ReplaySealing, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        guard case .answer(let answer, let time) = try storedAnswer(of: id, on: connection) else {
            guard !wasSealed else { return }
            // A damaged answer stays damaged.
            return try connection.run(
                """
                UPDATE answer SET location = NULL, headers = NULL, body = NULL WHERE job = \(id) AND status IS NOT NULL
                """
            )
        }
        guard let clear = wasSealed ? try sealing.opened(answer, of: id) : answer else { return }
        try store(clear, of: id, at: time, on: connection)
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
            try connection.run(
                """
                UPDATE hold SET name = \(new.name), reason = \(new.reason), details = \(new.details)
                WHERE kind = \(hold.kind) AND name = \(hold.stored.name)
                """
            )
        }
    }
}
