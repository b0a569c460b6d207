import DiamondSQLite
import Foundation

/// The owners that claim jobs, and the rescue of the jobs of dead owners.
extension ReplayTable {
    /// An owner's row.
    struct Owner: Hashable, Sendable {
        var id: Int64
        var name: String
        var boot: String
        var process: Int32
        var program: String
        /// Milliseconds since 1970.
        var startedAt: Int64
        /// Milliseconds since the boot.
        var leaseUntil: Int64
        var isSuspended: Bool

        /// Whether it surely is of another start of the machine. Where either does not know its own, leases alone tell.
        func isOfAnother(_ boot: String) -> Bool { !self.boot.isEmpty && !boot.isEmpty && self.boot != boot }
    }

    static func addOwner(
        _ name: String,
        boot: String,
        process: Int32,
        program: String,
        lease: Int64,
        isSuspended: Bool = false,
        on connection: borrowing SQLiteConnection,
        _ ledger: ReplayLedger
    ) throws(SQLiteError) -> Int64 {
        let statement = try connection.statement(
            """
            INSERT INTO owner (name, boot, process, program, started_at, lease_until, is_suspended)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            """
        )
        try statement.bind(name, at: 1)
        try statement.bind(boot, at: 2)
        try statement.bind(Int64(process), at: 3)
        try statement.bind(program, at: 4)
        try statement.bind(ledger.now, at: 5)
        try statement.bind(ledger.uptime + lease, at: 6)
        try statement.bind(Int64(isSuspended ? 1 : 0), at: 7)
        try statement.run()
        return connection.lastInsertedID
    }

    /// - Returns: `false` if another process has taken the owner for dead, or may do so.
    static func renew(
        _ owner: Int64,
        lease: Int64,
        isSuspended: Bool = false,
        on connection: borrowing SQLiteConnection,
        _ ledger: ReplayLedger
    ) throws(SQLiteError) -> Bool {
        let statement = try connection.statement(
            "UPDATE owner SET lease_until = ?, is_suspended = ? WHERE id = ? AND lease_until > ?")
        try statement.bind(ledger.uptime + lease, at: 1)
        try statement.bind(isSuspended, at: 2)
        try statement.bind(owner, at: 3)
        // A lease that has ended is no more: what it was for may have been left lying.
        try statement.bind(ledger.uptime, at: 4)
        try statement.run()
        return connection.changes == 1
    }

    static func owners(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> [Owner] {
        let statement = try connection.statement(
            "SELECT id, name, boot, process, program, started_at, lease_until, is_suspended FROM owner ORDER BY id")
        var owners: [Owner] = []
        while try statement.step() {
            owners.append(
                Owner(
                    id: statement.int64(0), name: statement.text(1), boot: statement.text(2),
                    process: Int32(truncatingIfNeeded: statement.int64(3)), program: statement.text(4),
                    startedAt: statement.int64(5), leaseUntil: statement.int64(6), isSuspended: statement.int64(7) != 0
                ))
        }
        return owners
    }

    /// Gives back what an owner has claimed and not sent, at its orderly end; what it has sent is taken for unknown.
    static func removeOwner(
        _ owner: Int64,
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        try bury(owner, isInnocent: true, on: connection, &ledger)
    }

    /// Makes the jobs of a dead owner ready again, and forgets it.
    ///
    /// - Parameters:
    ///   - isInnocent: whether its end says nothing of its jobs.
    ///   - sent: knows what has left that must not be sent twice; `nil` where nobody does.
    static func bury(
        _ owner: Int64,
        isInnocent: Bool,
        notedIn sent: SentLog? = nil,
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        for id in try jobs(of: owner, on: connection) {
            guard var row = try sound(id, on: connection, &ledger), row.state == .running else { continue }
            if row.sentAt == nil, row.mustNotRepeat, sent?.hasLeft(row) == true { row.sentAt = ledger.now }
            if let sentAt = row.sentAt, !isInnocent {
                let message = "whoever sent it died, or was away for longer than its lease"
                try addFailure(of: id, "died", message, startedAt: sentAt, on: connection, ledger)
            }
            row.takeDeath(
                rescues: try deaths(of: id, since: ledger.now - ReplayRow.poisonWindow, on: connection),
                isInnocent: isInnocent, at: ledger.now)
            try settle(&row, on: connection, ledger)
            try save(row, .rescue, from: .running, on: connection, &ledger)
        }
        let statement = try connection.statement("DELETE FROM owner WHERE id = ?")
        try statement.bind(owner, at: 1)
        try statement.run()
    }

    private static func jobs(of owner: Int64, on connection: borrowing SQLiteConnection) throws(SQLiteError) -> [Int64]
    {
        let statement = try connection.statement("SELECT id FROM job WHERE owner = ? ORDER BY id")
        try statement.bind(owner, at: 1)
        return try ids(in: statement)
    }

    private static func deaths(
        of id: Int64,
        since time: Int64,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Int {
        let statement = try connection.statement(
            "SELECT count(*) FROM attempt WHERE job = ? AND code = 'died' AND ended_at >= ?")
        try statement.bind(id, at: 1)
        try statement.bind(time, at: 2)
        return try statement.step() ? Int(statement.int64(0)) : 0
    }
}
