import DiamondSQLite

/// Forgetting jobs that ended long ago.
extension ReplayTable {
    /// The number of hours kept: those of 400 days.
    private static let keptHours: Int64 = 400 * 24

    /// Forgets jobs that ended long ago and are done or dead.
    ///
    /// - Returns: whether there may be more to forget.
    static func forget(
        _ retention: ReplayRetention,
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) -> Bool {
        var isMore = false
        try deleteOldestHours(on: connection)
        let counts = try census(on: connection)
        for state in [ReplayState.done, .dead] {
            let limit = retention.limit(of: state)
            let count = state == .dead ? try deadCount(on: connection) : counts[state] ?? 0
            let surplus = max(0, count - limit.count)
            let old = try ended(state, before: ledger.now - limit.age.milliseconds, on: connection)
            let oldest = surplus > old.count ? try ended(state, before: .max, atMost: surplus, on: connection) : old
            for id in oldest {
                // What a damaged row says of its end may be wrong.
                guard try isForgettable(id, on: connection, &ledger) else { continue }
                let statement = try connection.statement("DELETE FROM job WHERE id = ?")
                try statement.bind(id, at: 1)
                try statement.run()
                ledger.note(.forget, id, from: state, to: nil, .expired)
            }
            isMore = isMore || oldest.count >= slice
        }
        return isMore
    }

    private static func isForgettable(
        _ id: Int64,
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) -> Bool {
        guard let written = try written(id, on: connection) else { return false }
        if !written.isSound, written.row.state == .done, written.row.reason == .discarded { return true }
        return try sound(id, on: connection, &ledger)?.state.isEnd == true
    }

    // By their number, not by their age: on the word of a clock that is far ahead, no more than one is deleted. Grouped, because
    // SQLite 3.40 forgets the OFFSET of a subquery that is DISTINCT.
    private static func deleteOldestHours(on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        let statement = try connection.statement(
            "DELETE FROM hour WHERE hour <= (SELECT hour FROM hour GROUP BY hour ORDER BY hour DESC LIMIT 1 OFFSET ?)")
        try statement.bind(keptHours, at: 1)
        try statement.run()
    }

    /// Returns the number of dead jobs that may be forgotten. Jobs that must be kept do not count towards the limit.
    private static func deadCount(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Int {
        Int(
            try connection.integer(
                "SELECT count(*) FROM job WHERE state = 5 AND (is_strict = 0 OR ordering_key IS NULL)"))
    }

    // Not the heads of lines: a strict one that is dead blocks until somebody has decided. Nor those whose answers wait to be
    // taken, or bring an id that others of their line wait for.
    private static func ended(
        _ state: ReplayState,
        before time: Int64,
        atMost limit: Int = .max,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [Int64] {
        let statement = try connection.statement(
            """
            SELECT id FROM job WHERE state = ?1 AND changed_at < ?2
                AND (state = 4 OR is_strict = 0 OR ordering_key IS NULL)
                AND NOT EXISTS (SELECT 1 FROM answer WHERE answer.job = job.id AND (taken_at IS NULL OR EXISTS (
                    SELECT 1 FROM job AS other WHERE other.ordering_key = job.ordering_key AND other.state = 3
                        AND other.reason = 'awaitingID')))
            ORDER BY changed_at LIMIT ?3
            """
        )
        try statement.bind(Int64(state.rawValue), at: 1)
        try statement.bind(time, at: 2)
        try statement.bind(min(Int64(limit), slice), at: 3)
        return try ids(in: statement)
    }
}
