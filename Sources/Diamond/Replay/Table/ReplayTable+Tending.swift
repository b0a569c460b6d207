import DiamondSQLite
import Foundation

/// Actions of people on jobs.
extension ReplayTable {
    /// The result of an action.
    enum Effect: Hashable, Sendable {
        case done(ReplayState)
        case noJob
        /// The job's state does not allow the action.
        case wrongState(ReplayState)
        /// Another job has the same unique name by now.
        case notUnique
        /// The stored row is damaged.
        case damaged
    }

    static func apply(
        _ action: JobAction,
        to id: Int64,
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) -> Effect {
        guard let written = try written(id, on: connection) else { return .noJob }
        if !written.isSound, action == .discard {
            let isDone = try discardDamaged(written.row, on: connection, &ledger)
            return isDone ? .done(.done) : .wrongState(.done)
        }
        guard var row = try sound(id, on: connection, &ledger) else { return .damaged }
        guard row.allows(action) else { return .wrongState(row.state) }
        if action == .redrive {
            guard try soundRequest(of: row, on: connection, &ledger) != nil else { return .damaged }
            if try isNameTaken(of: id, on: connection) { return .notUnique }
        }
        let old = row.state
        row.take(action, at: ledger.now)
        if action == .redrive {
            try renew(&row, on: connection, ledger)
            try takeName(of: id, on: connection)
        }
        try settle(&row, on: connection, ledger)
        try save(row, action.verb, from: old, on: connection, &ledger)
        return .done(row.state)
    }

    /// A job that is sent anew has all its time before it: it may have ended because that was over. Its answer is wanted again.
    private static func renew(
        _ row: inout ReplayRow,
        on connection: borrowing SQLiteConnection,
        _ ledger: ReplayLedger
    ) throws(SQLiteError) {
        let written = try request(of: row.id, on: connection)
        // One that this program cannot read waits for another that can.
        let policy = (try? Request(json: written))?.replay
        if policy?.keepsAnswer == true { try expectAnswer(of: row.id, again: true, on: connection) }
        if policy?.awaitsID == true { (row.isHeld, row.reason) = (true, .awaitingID) }
        let expiry = policy.map(\.expiry) ?? ReplayPolicy.defaultExpiry
        let statement = try connection.statement("UPDATE job SET expires_at = ? WHERE id = ?")
        row.expiresAt = expiry.map { ledger.now + $0.milliseconds }
        try statement.bind(row.expiresAt, at: 1)
        try statement.bind(row.id, at: 2)
        try statement.run()
    }

    private static func isNameTaken(
        of id: Int64,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Bool {
        let statement = try connection.statement(
            """
            SELECT 1 FROM job WHERE unique_key = (SELECT unique_key FROM job WHERE id = ?1) AND unique_key IS NOT NULL
                AND (unique_states >> state) & 1 AND id <> ?1
            """
        )
        try statement.bind(id, at: 1)
        return try statement.step()
    }
}

extension JobAction {
    /// A description of the states that allow the action, for display.
    var states: String {
        switch self {
        case .retry, .hold: "waiting or ready"
        case .release: "held by itself, and not for an id that its URL needs"
        case .discard: "neither running nor done"
        case .redrive: "dead or in review"
        }
    }

    var verb: ReplayTransition.Verb {
        switch self {
        case .retry: .retry
        case .hold: .hold
        case .release: .release
        case .discard: .discard
        case .redrive: .redrive
        }
    }
}

extension ReplayRow {
    /// Whether the job's state allows an action. A running job is left to finish.
    func allows(_ action: JobAction) -> Bool {
        switch action {
        case .retry: state == .waiting || state == .ready
        case .hold: state == .waiting || state == .ready
        case .release: state == .held && isHeld && reason != .awaitingID
        case .discard: state != .running && state != .done
        case .redrive: state == .dead || state == .needsReview
        }
    }

    mutating func take(_ action: JobAction, at now: Int64) {
        switch action {
        case .retry: (runAt, reason) = (min(runAt, now), .retried)
        case .hold: (isHeld, reason) = (true, .held)
        case .release: (isHeld, reason) = (false, .released)
        case .discard: (state, reason) = (.done, .discarded)
        case .redrive: redrive(at: now)
        }
    }

    // Whoever redrives answers for it: what may have been processed counts as looked into.
    private mutating func redrive(at now: Int64) {
        if unknownAt != nil { mayHaveActed = true }
        (state, runAt, attempts, unknownAt) = (.ready, now, 0, nil)
        (isHeld, reason) = (false, .redriven)
    }
}
