import DiamondSQLite
import Foundation

/// Holds on many jobs.
extension ReplayTable {
    /// Adds a hold, or updates its reason. From now on it applies to jobs that are added, return to the queue, or are
    /// claimed.
    ///
    /// - Parameter isSignOut: whether the hold is that of an identity that signs out.
    static func add(
        _ hold: ReplayHold,
        reason: String,
        isSignOut: Bool = false,
        on connection: borrowing SQLiteConnection,
        ledger: ReplayLedger
    ) throws(SQLiteError) {
        let stored = try StoredHold(hold, reason: reason, on: connection)
        try connection.run(
            """
            INSERT INTO hold (kind, name, reason, since, is_sign_out, details)
            VALUES (\(hold.kind), \(stored.name), \(stored.reason), \(ledger.now), \(isSignOut), \(stored.details))
            ON CONFLICT (kind, name) DO UPDATE SET reason = excluded.reason,
                is_sign_out = max(is_sign_out, excluded.is_sign_out), details = excluded.details
            """
        )
    }

    /// Removes a hold. If it is a hold on an identity, jobs that wait for the identity to sign in no longer wait.
    static func remove(
        _ hold: ReplayHold,
        on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        if case .identity(let name) = hold {
            let signIn: SQL = """
                SELECT id FROM job WHERE state = 3 AND reason = 'unauthorized'
                    AND identity = \(connection.stored(name, .identity))
                """
            for id in try connection.integers(signIn) {
                guard var row = try checkedRow(id, on: connection, ledger: &ledger) else { continue }
                row.isHeld = false
                row.reason = .held
                try saveHeld(row, on: connection)
            }
        }
        try connection.run("DELETE FROM hold WHERE kind = \(hold.kind) AND name = \(hold.storedName(on: connection))")
    }

    /// Writes whether the job itself is held. This is no transition: the job's state stays held.
    private static func saveHeld(_ row: ReplayRow, on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        try connection.run(
            """
            UPDATE job SET is_held = \(row.isHeld), reason = \(row.reason.description), checksum = \(row.checksum)
            WHERE id = \(row.id)
            """
        )
    }

    /// Holds those of the given jobs that a hold covers, and releases those that neither are held themselves nor covered
    /// by a hold.
    ///
    /// - Parameter states: the states of the jobs to look at.
    /// - Returns: the number of jobs that were changed.
    static func applyHolds(
        to ids: [Int64],
        in states: [ReplayState],
        on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) -> Int {
        var count = 0
        for id in ids {
            guard var row = try checkedRow(id, on: connection, ledger: &ledger), states.contains(row.state) else {
                continue
            }
            let old = row.state
            try updateState(of: &row, on: connection, ledger: ledger)
            guard let verb = row.noteHold(after: old) else { continue }
            try save(row, verb: verb, from: old, on: connection, ledger: &ledger)
            count += 1
        }
        return count
    }

    /// Holds a job if its key, identity or lane is held.
    ///
    /// - Returns: whether it is held.
    static func hold(
        _ row: inout ReplayRow,
        on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) -> Bool {
        guard try isHeld(row, on: connection) else { return false }
        let old = row.state
        row.enter(.held, reason: .held)
        try save(row, verb: .hold, from: old, on: connection, ledger: &ledger)
        return true
    }

    /// A hold on disk.
    struct HoldRow {
        var hold: ReplayHold
        var reason: String
        /// The time at which the hold was added.
        var since: QueueTime
    }

    static func holds(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> [HoldRow] {
        let statement = try connection.statement(
            "SELECT kind, name, reason, since, details FROM hold ORDER BY kind, name")
        return try statement.rows { (row) throws(SQLiteError) in
            var stored = StoredHold(
                name: row.text(1), reason: row.text(2), details: row.isNull(4) ? nil : row.data(4))
            try stored.open(kind: row.text(0), on: connection)
            return HoldRow(
                hold: ReplayHold(kind: row.text(0), name: stored.name), reason: stored.reason,
                since: row.time(3))
        }
    }

    /// Returns a batch of the jobs that a hold covers, in the order of their ids.
    static func ids(
        of hold: ReplayHold,
        in states: [ReplayState],
        after last: Int64,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [Int64] {
        guard !hold.isWhole else { return [] }
        // Reads the table in the order of ids. An index over states would have to be sorted for each batch.
        return try connection.integers(
            """
            SELECT id FROM job NOT INDEXED WHERE id > \(last)
                AND state IN (\(states.first?.rawValue), \(states.last?.rawValue))
                AND CASE \(hold.kind)
                    WHEN 'key' THEN ordering_key WHEN 'identity' THEN identity WHEN 'lane' THEN lane
                END = \(hold.storedName(on: connection))
            ORDER BY id LIMIT \(batchSize)
            """
        )
    }

    /// Returns held jobs that no hold covers. The process that ended their hold died before it released them.
    static func orphans(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> [Int64] {
        try connection.integers(
            """
            SELECT id FROM job WHERE state = 3 AND is_held = 0 AND NOT EXISTS (
                SELECT 1 FROM hold
                WHERE (kind, name) IN (VALUES ('key', ordering_key), ('identity', identity), ('lane', lane)))
            LIMIT \(batchSize)
            """
        )
    }
}

extension ReplayHold {
    package init(kind: String, name: String) {
        self =
            switch kind {
            case "key": .key(name)
            case "identity": .identity(name)
            case "lane": .lane(Lane(name))
            case "engine": .engine
            default: .queue
            }
    }

    /// The name of the kind in the table.
    package var kind: String {
        switch self {
        case .engine: "engine"
        case .queue: "queue"
        case .key: "key"
        case .identity: "identity"
        case .lane: "lane"
        }
    }

    /// The name of the held key, identity or lane; empty for the queue and the engines.
    package var name: String {
        switch self {
        case .engine, .queue: ""
        case .key(let name), .identity(let name): name
        case .lane(let lane): lane.name
        }
    }
}
