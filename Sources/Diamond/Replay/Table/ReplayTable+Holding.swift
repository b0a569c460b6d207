import DiamondSQLite
import Foundation

/// Holding jobs by what they have in common.
extension ReplayTable {
    /// Adds a hold, or updates its reason. From now on it applies to jobs that are added, come back or are claimed.
    static func add(
        _ hold: ReplayHold,
        reason: String,
        on connection: borrowing SQLiteConnection,
        _ ledger: ReplayLedger
    ) throws(SQLiteError) {
        let statement = try connection.statement(
            """
            INSERT INTO hold (kind, name, reason, since) VALUES (?, ?, ?, ?)
            ON CONFLICT (kind, name) DO UPDATE SET reason = excluded.reason
            """
        )
        try statement.bind(hold.kind, at: 1)
        try statement.bind(hold.name, at: 2)
        try statement.bind(reason, at: 3)
        try statement.bind(ledger.now, at: 4)
        try statement.run()
    }

    /// Removes a hold. Jobs that wait for their identity to sign in stop waiting for it when the hold on the identity
    /// is removed.
    static func remove(
        _ hold: ReplayHold,
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        if case .identity(let name) = hold {
            let signIn = try connection.statement(
                "SELECT id FROM job WHERE state = 3 AND reason = 'unauthorized' AND identity = ?")
            try signIn.bind(name, at: 1)
            for id in try ids(in: signIn) {
                guard var row = try sound(id, on: connection, &ledger) else { continue }
                (row.isHeld, row.reason) = (false, .held)
                try saveHeld(row, on: connection)
            }
        }
        let statement = try connection.statement("DELETE FROM hold WHERE kind = ? AND name = ?")
        try statement.bind(hold.kind, at: 1)
        try statement.bind(hold.name, at: 2)
        try statement.run()
    }

    /// Writes whether the job itself is held. No transition: a job that waits for its identity stays held.
    private static func saveHeld(_ row: ReplayRow, on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        let statement = try connection.statement(
            "UPDATE job SET is_held = ?2, reason = ?3, checksum = ?4 WHERE id = ?1")
        try statement.bind(row.id, at: 1)
        try statement.bind(row.isHeld, at: 2)
        try statement.bind(row.reason.description, at: 3)
        try statement.bind(row.checksum, at: 4)
        try statement.run()
    }

    /// Holds those of the jobs that are ready or waiting, and that something holds by now.
    ///
    /// - Returns: how many jobs it has changed.
    static func hold(
        _ ids: [Int64],
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) -> Int {
        var count = 0
        for id in ids {
            guard var row = try sound(id, on: connection, &ledger), row.state == .ready || row.state == .waiting else {
                continue
            }
            if try hold(&row, on: connection, &ledger) { count += 1 }
        }
        return count
    }

    /// - Returns: whether its key, identity or lane is held, and so the job.
    static func hold(
        _ row: inout ReplayRow,
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) -> Bool {
        guard try isHeld(row, on: connection) else { return false }
        let old = row.state
        (row.state, row.reason) = (.held, .held)
        try save(row, .hold, from: old, on: connection, &ledger)
        return true
    }

    /// Releases those of the jobs that are held, but for what a hold or the job itself holds still.
    ///
    /// - Returns: how many jobs it has changed.
    static func release(
        _ ids: [Int64],
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) -> Int {
        var count = 0
        for id in ids {
            guard var row = try sound(id, on: connection, &ledger), row.state == .held else { continue }
            try settle(&row, on: connection, ledger)
            guard row.state != .held else { continue }
            row.reason = .released
            try save(row, .release, from: .held, on: connection, &ledger)
            count += 1
        }
        return count
    }

    static func holds(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> [(ReplayHold, String, Int64)] {
        let statement = try connection.statement("SELECT kind, name, reason, since FROM hold ORDER BY kind, name")
        var holds: [(ReplayHold, String, Int64)] = []
        while try statement.step() {
            let name = statement.text(1)
            let hold: ReplayHold =
                switch statement.text(0) {
                case "key": .key(name)
                case "identity": .identity(name)
                case "lane": ReplayHold.lane(Lane(name))
                case "engine": .engine
                default: .queue
                }
            holds.append((hold, statement.text(2), statement.int64(3)))
        }
        return holds
    }

    /// Jobs that a hold is about, in the order of their ids.
    static func ids(
        of hold: ReplayHold,
        in states: [ReplayState],
        after last: Int64,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [Int64] {
        guard !hold.isWhole else { return [] }
        // Along the ids: those of an index over states would have to be sorted for each slice.
        let statement = try connection.statement(
            """
            SELECT id FROM job NOT INDEXED WHERE id > ?1 AND state IN (?2, ?3)
                AND CASE ?4 WHEN 'key' THEN ordering_key WHEN 'identity' THEN identity WHEN 'lane' THEN lane END = ?5
            ORDER BY id LIMIT ?6
            """
        )
        try statement.bind(last, at: 1)
        try statement.bind(Int64(states.first?.rawValue ?? -1), at: 2)
        try statement.bind(Int64(states.last?.rawValue ?? -1), at: 3)
        try statement.bind(hold.kind, at: 4)
        try statement.bind(hold.name, at: 5)
        try statement.bind(slice, at: 6)
        return try ids(in: statement)
    }

    /// Returns the jobs that no hold holds any more. The process that ended their hold died before it released them.
    static func orphans(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> [Int64] {
        let statement = try connection.statement(
            """
            SELECT id FROM job WHERE state = 3 AND is_held = 0 AND NOT EXISTS (
                SELECT 1 FROM hold
                WHERE (kind, name) IN (VALUES ('key', ordering_key), ('identity', identity), ('lane', lane)))
            LIMIT ?
            """
        )
        try statement.bind(slice, at: 1)
        return try ids(in: statement)
    }
}

extension ReplayHold {
    /// As it stands in the table.
    package var kind: String {
        switch self {
        case .engine: "engine"
        case .queue: "queue"
        case .key: "key"
        case .identity: "identity"
        case .lane: "lane"
        }
    }

    /// Empty for the queue and the engines.
    package var name: String {
        switch self {
        case .engine, .queue: ""
        case .key(let name), .identity(let name): name
        case .lane(let lane): lane.name
        }
    }
}
