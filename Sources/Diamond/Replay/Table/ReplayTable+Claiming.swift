import DiamondSQLite
import Foundation

/// Claiming jobs that may be sent.
extension ReplayTable {
    /// The identities whose jobs may be claimed.
    package enum Identities: Hashable, Sendable {
        case all
        /// The jobs of the identities signed in here, and the jobs without an identity.
        case only(Set<String>)
    }

    /// The lanes whose jobs may be claimed.
    package enum Lanes: Hashable, Sendable {
        case all
        case allBut(Set<Lane>)
        case none

        func contains(_ lane: Lane) -> Bool {
            switch self {
            case .all: true
            case .allBut(let paused): !paused.contains(lane)
            case .none: false
            }
        }
    }

    /// A claimed job, to be sent.
    package struct Claimed: Hashable, Sendable {
        var id: Int64
        var token: Int64
        var request: Data
    }

    /// Whether an owner may still act: its row is there, and its lease has not ended.
    static func isAlive(
        _ owner: Int64,
        at uptime: Int64,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Bool {
        let statement = try connection.statement("SELECT 1 FROM owner WHERE id = ? AND lease_until > ?")
        try statement.bind(owner, at: 1)
        try statement.bind(uptime, at: 2)
        return try statement.step()
    }

    /// Claims up to `limit` jobs that may be sent now.
    ///
    /// - Returns: the jobs, and whether there may be more though none was claimed: many were held, or need review.
    static func claim(
        _ limit: Int,
        of identities: Identities,
        in lanes: Lanes = .all,
        by owner: Int64,
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) -> (jobs: [Claimed], isMore: Bool) {
        try promote(on: connection, &ledger)
        try expire(on: connection, &ledger)
        guard lanes != .none, try !isQueueHeld(on: connection) else { return ([], false) }
        var jobs: [Claimed] = []
        var seen = 0
        while jobs.isEmpty, seen < slice {
            let ids = try eligible(limit, of: identities, in: lanes, on: connection)
            guard !ids.isEmpty else { return ([], false) }
            seen += ids.count
            for id in ids { if let job = try take(id, by: owner, on: connection, &ledger) { jobs.append(job) } }
        }
        return (jobs, jobs.isEmpty)
    }

    /// - Returns: `nil` where it is held or damaged, and where nobody may send it without having looked into it.
    private static func take(
        _ id: Int64,
        by owner: Int64,
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) -> Claimed? {
        guard let written = try written(id, on: connection), written.row.state == .ready else {
            try reindex(on: connection, &ledger)
            return nil
        }
        guard var row = try sound(id, on: connection, &ledger) else { return nil }
        // A hold of many takes several transactions.
        guard try !hold(&row, on: connection, &ledger) else { return nil }
        let old = row.state
        guard let reason = row.reviewReason(at: ledger.now) else {
            return try run(&row, by: owner, on: connection, &ledger)
        }
        (row.state, row.reason) = (.needsReview, reason)
        try save(row, .fail, from: old, on: connection, &ledger)
        return nil
    }

    private static func run(
        _ row: inout ReplayRow,
        by owner: Int64,
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) -> Claimed? {
        guard let request = try soundRequest(of: row, on: connection, &ledger) else { return nil }
        let old = row.state
        (row.state, row.reason, row.owner, row.sentAt) = (.running, .claimed, owner, nil)
        row.renewToken()
        try save(row, .claim, from: old, on: connection, &ledger)
        return Claimed(id: row.id, token: row.token, request: request)
    }

    /// A job where its owner runs it; `nil` where not.
    static func claimed(
        _ id: Int64,
        by owner: Int64,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Claimed? {
        guard let row = try row(id, on: connection), row.state == .running, row.owner == owner else { return nil }
        return Claimed(id: row.id, token: row.token, request: try request(of: row.id, on: connection))
    }

    static func isQueueHeld(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Bool {
        try connection.integer("SELECT EXISTS (SELECT 1 FROM hold WHERE kind IN ('queue', 'engine'))") != 0
    }

    // SQLite takes an index over a state for better than a partial one of that state alone, reads all that are in it, and
    // sorts them. So the statements name theirs.

    /// Whether a job may be claimed, of whomever.
    static func hasReady(in lanes: Lanes, on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Bool {
        try !eligible(1, of: .all, in: lanes, on: connection).isEmpty
    }

    /// Passes by all jobs of other lanes that stand before those it finds.
    static func eligible(
        _ limit: Int,
        of identities: Identities,
        in lanes: Lanes,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [Int64] {
        guard lanes != .none else { return [] }
        guard case .only(let names) = identities else {
            let statement = try connection.statement(
                """
                SELECT priority, turn, id, lane FROM job INDEXED BY job_by_turn WHERE state = 0 AND is_head = 1
                ORDER BY priority DESC, turn, id
                """
            )
            return try places(limit, in: lanes, of: statement).map(\.id)
        }
        var found: [Place] = []
        for name in names.map(Optional.some) + [nil] { found += try places(limit, of: name, in: lanes, on: connection) }
        return found.sorted().prefix(limit).map(\.id)
    }

    /// In the order in which jobs are sent.
    private struct Place: Comparable {
        var priority: Int64
        var turn: Int64
        var id: Int64

        static func < (left: Place, right: Place) -> Bool {
            (right.priority, left.turn, left.id) < (left.priority, right.turn, right.id)
        }
    }

    private static func places(
        _ limit: Int,
        of identity: String?,
        in lanes: Lanes,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [Place] {
        let statement = try connection.statement(
            """
            SELECT priority, turn, id, lane FROM job INDEXED BY job_of_identity
            WHERE identity IS ? AND state = 0 AND is_head = 1 ORDER BY priority DESC, turn, id
            """
        )
        try statement.bind(identity, at: 1)
        return try places(limit, in: lanes, of: statement)
    }

    private static func places(
        _ limit: Int,
        in lanes: Lanes,
        of statement: borrowing SQLiteStatement
    ) throws(SQLiteError) -> [Place] {
        var found: [Place] = []
        while found.count < limit, try statement.step() {
            guard lanes.contains(Lane(statement.text(3))) else { continue }
            found.append(Place(priority: statement.int64(0), turn: statement.int64(1), id: statement.int64(2)))
        }
        return found
    }
}
