import DiamondSQLite
import Foundation

/// Holding jobs by what they have in common.
extension ReplayTable {
    /// Holds what is ready or waiting, and what is added from now on; what runs comes to its end.
    ///
    /// - Returns: how many jobs it has changed.
    static func hold(
        _ hold: ReplayHold,
        reason: String,
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) -> Int {
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
        let ids = try ids(of: hold, in: [.ready, .waiting], on: connection)
        for id in ids {
            guard var row = try row(id, on: connection) else { continue }
            let old = row.state
            (row.state, row.reason) = (.held, .held)
            try save(row, .hold, from: old, on: connection, &ledger)
        }
        return ids.count
    }

    /// Releases what the hold has held, but for what another one or the job itself holds.
    ///
    /// - Returns: how many jobs it has changed.
    static func release(
        _ hold: ReplayHold,
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) -> Int {
        let statement = try connection.statement("DELETE FROM hold WHERE kind = ? AND name = ?")
        try statement.bind(hold.kind, at: 1)
        try statement.bind(hold.name, at: 2)
        try statement.run()
        var count = 0
        for id in try ids(of: hold, in: [.held], on: connection) {
            guard var row = try row(id, on: connection) else { continue }
            // A login that was missing is what an identity is released for.
            if row.reason == .unauthorized, case .identity = hold { row.isHeld = false }
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
                default: .queue
                }
            holds.append((hold, statement.text(2), statement.int64(3)))
        }
        return holds
    }

    private static func ids(
        of hold: ReplayHold,
        in states: [ReplayState],
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [Int64] {
        var ids: [Int64] = []
        for state in states {
            let statement = try connection.statement(
                """
                SELECT id FROM job WHERE state = ?1
                    AND CASE ?2 WHEN 'key' THEN ordering_key WHEN 'identity' THEN identity WHEN 'lane' THEN lane END = ?3
                ORDER BY id
                """
            )
            try statement.bind(Int64(state.rawValue), at: 1)
            try statement.bind(hold.kind, at: 2)
            try statement.bind(hold.name, at: 3)
            while try statement.step() { ids.append(statement.int64(0)) }
        }
        return ids
    }
}

extension ReplayHold {
    /// As it stands in the table.
    package var kind: String {
        switch self {
        case .queue: "queue"
        case .key: "key"
        case .identity: "identity"
        case .lane: "lane"
        }
    }

    /// Empty for the queue.
    package var name: String {
        switch self {
        case .queue: ""
        case .key(let name), .identity(let name): name
        case .lane(let lane): lane.name
        }
    }
}
