import DiamondSQLite
import Foundation

/// Operators' actions on jobs.
extension ReplayTable {
    static func apply(
        _ action: ReplayAction,
        to id: Int64,
        on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) -> ReplayEffect {
        guard let stored = try storedRow(id, on: connection) else { return .noJob }
        if !stored.isIntact, action == .discard {
            let isDone = try discardDamaged(stored.row, on: connection, ledger: &ledger)
            return isDone ? .done(.done) : .wrongState(.done)
        }
        guard var row = try checkedRow(id, on: connection, ledger: &ledger) else { return .damaged }
        guard row.allows(action) else { return .wrongState(row.state) }
        if action == .redrive {
            guard try checkedRequest(of: row, on: connection, ledger: &ledger) != nil else { return .damaged }
            if try isNameTaken(of: id, on: connection) { return .notUnique }
        }
        let old = row.state
        row.apply(action, at: ledger.now)
        var policy: ReplayPolicy?
        if action == .redrive {
            policy = try renew(&row, on: connection, ledger: ledger)
            try claimName(of: id, on: connection)
        }
        if action == .release, try !names(awaitedBy: id, on: connection).isEmpty {
            row.awaitIDs()
        }
        try updateState(of: &row, on: connection, ledger: ledger)
        try save(row, verb: action.verb, from: old, on: connection, ledger: &ledger)
        if let policy, row.awaitsIDs {
            try link(policy, to: id, on: connection, ledger: &ledger)
        } else if action == .release, row.awaitsIDs {
            try updateReason(of: id, on: connection, ledger: &ledger)
        }
        return .done(row.state)
    }

    /// Renews a redriven job (``ReplayRow/renew(by:at:)``). If its policy stores answers, an answer is expected again.
    ///
    /// - Returns: the policy; `nil` if this program cannot decode it.
    private static func renew(
        _ row: inout ReplayRow,
        on connection: borrowing SQLiteConnection,
        ledger: ReplayLedger
    ) throws(SQLiteError) -> ReplayPolicy? {
        let stored = try storedRequest(of: row.id, on: connection)
        let written = try connection.opened(request: stored, of: row.id)
        // If this program cannot decode the request, another version may.
        let policy = written.flatMap { try? Request(json: $0) }?.replay
        if policy?.storesAnswer == true { try expectAnswer(of: row.id, reset: true, on: connection) }
        row.renew(by: policy, at: ledger.now)
        try connection.run("UPDATE job SET expires_at = \(row.expiresAt) WHERE id = \(row.id)")
        return policy
    }

    private static func isNameTaken(
        of id: Int64,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Bool {
        try connection.hasRow(
            """
            SELECT 1 FROM job WHERE unique_key = (SELECT unique_key FROM job WHERE id = \(id))
                AND unique_key IS NOT NULL AND (unique_states >> state) & 1 AND id <> \(id)
            """
        )
    }
}

extension ReplayAction {
    /// A description of the states that allow the action, for display.
    var states: String {
        switch self {
        case .retry, .hold: "waiting or ready"
        case .release: "held themselves, and not for ids that their requests need"
        case .discard: "neither running nor done"
        case .redrive: "dead or in review"
        }
    }

    /// The states that allow the action. To be released, a held job must also be held itself, and not for ids.
    package var allowedStates: Set<ReplayState> {
        switch self {
        case .retry, .hold: [.waiting, .ready]
        case .release: [.held]
        case .discard: Set(ReplayState.allCases).subtracting([.running, .done])
        case .redrive: [.dead, .needsReview]
        }
    }

    package var verb: ReplayTransition.Verb {
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
    package func allows(_ action: ReplayAction) -> Bool {
        action.allowedStates.contains(state) && (action != .release || isHeld && !awaitsIDs)
    }

    package mutating func apply(_ action: ReplayAction, at now: QueueTime) {
        switch action {
        case .retry:
            runAt = min(runAt, now)
            reason = .retried
        case .hold:
            isHeld = true
            reason = .held
        case .release:
            isHeld = false
            reason = .released
        case .discard:
            state = .done
            reason = .discarded
        case .redrive: redrive(at: now)
        }
    }

    // The person who redrives the job takes responsibility for sending it again, so no unknown outcome remains.
    private mutating func redrive(at now: QueueTime) {
        if unknownSince != nil { serverMayHaveActed = true }
        state = .ready
        reason = .redriven
        runAt = now
        attempts = 0
        unknownSince = nil
        isHeld = false
    }
}
