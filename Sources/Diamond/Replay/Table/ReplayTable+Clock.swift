package import DiamondSQLite

/// The queue's record of its time.
extension ReplayTable {
    package static func reckoning(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> QueueClock? {
        let statement = try connection.statement("SELECT boot, zero, uptime, wall, doubt, since FROM clock")
        guard try statement.step() else { return nil }
        let numbers = (1...5).map { statement.int64($0).clamped(to: ReplayRow.sensible) }
        return QueueClock(
            boot: statement.text(0), zero: numbers[0], uptime: numbers[1], wall: numbers[2], doubt: numbers[3],
            since: numbers[4])
    }

    static func save(
        _ reckoning: QueueClock, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        let statement = try connection.statement(
            """
            INSERT INTO clock (id, boot, zero, uptime, wall, doubt, since) VALUES (1, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET boot = excluded.boot, zero = excluded.zero, uptime = excluded.uptime,
                wall = excluded.wall, doubt = excluded.doubt, since = excluded.since
            """
        )
        try statement.bind(reckoning.boot, at: 1)
        for (index, number) in [
            reckoning.zero, reckoning.uptime, reckoning.wall, reckoning.doubt, reckoning.since,
        ].enumerated() {
            try statement.bind(number.clamped(to: ReplayRow.sensible), at: Int32(index + 2))
        }
        try statement.run()
    }

    /// Times that no rule makes, such as of a file that was written before the clock of another machine was set: brought
    /// back to the longest that the job would wait.
    ///
    /// - Returns: whether there may be more.
    static func bringBack(
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) -> Bool {
        let statement = try connection.statement(composed: "SELECT id FROM job WHERE \(isTooLate) LIMIT ?2")
        try statement.bind(ledger.now, at: 1)
        try statement.bind(slice, at: 2)
        let ids = try Self.ids(in: statement)
        for id in ids {
            guard var row = try sound(id, on: connection, &ledger), row.state == .waiting else { continue }
            row.runAt = ledger.now + ReplayBackoff.delay(after: row.attempts, draw: 1)
            try save(row, .retry, from: .waiting, on: connection, &ledger)
        }
        return ids.count >= slice
    }

    /// Jobs that wait for longer than any rule makes them. What somebody has added for a later time, or held, is not meant.
    ///
    /// - Parameter now: bound first.
    private static let isTooLate = """
        state = 1 AND reason IN ('backoff', 'retryAfter', 'offline', 'returned', 'rescued')
            AND run_at > ?1 + CASE reason WHEN 'retryAfter' THEN \(ReplayBackoff.longestWait) ELSE \(ReplayBackoff.cap.milliseconds) END
        """

    /// Returns the number of jobs whose times no rule makes: they wait too long, or were added or changed in the
    /// future.
    package static func untimely(at now: Int64, on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Int {
        let statement = try connection.statement(
            composed: "SELECT count(*) FROM job WHERE (\(isTooLate)) OR enqueued_at > ?1 + ?2 OR changed_at > ?1 + ?2")
        try statement.bind(now, at: 1)
        try statement.bind(QueueClock.tolerance, at: 2)
        return try statement.step() ? Int(statement.int64(0)) : 0
    }
}
