import DiamondSQLite
import Foundation

/// What people do to jobs.
extension ReplayTable {
    typealias Deed = ReplayDeed

    /// What has come of a deed.
    enum Effect: Hashable, Sendable {
        case done(ReplayState)
        case noJob
        /// It cannot be done in this state.
        case wrongState(ReplayState)
        /// Another one has its unique name by now.
        case notUnique
    }

    static func apply(
        _ deed: Deed,
        to id: Int64,
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) -> Effect {
        guard var row = try row(id, on: connection) else { return .noJob }
        guard row.allows(deed) else { return .wrongState(row.state) }
        if deed == .redrive, try isNameTaken(of: id, on: connection) { return .notUnique }
        let old = row.state
        row.take(deed, at: ledger.now)
        try settle(&row, on: connection, ledger)
        try save(row, deed.verb, from: old, on: connection, &ledger)
        return .done(row.state)
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

    // MARK: Holds

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

    // MARK: Retention

    /// Rows of one transaction.
    private static let slice: Int64 = 500

    /// A year of counts.
    private static let keptHours: Int64 = 366 * 24

    /// Forgets what ended long ago: what is done, and what is dead or in review.
    ///
    /// - Returns: whether there may be more.
    static func forget(
        _ retention: ReplayRetention,
        on connection: borrowing SQLiteConnection,
        _ ledger: inout ReplayLedger
    ) throws(SQLiteError) -> Bool {
        var isMore = false
        let hours = try connection.statement("DELETE FROM hour WHERE hour < ?")
        try hours.bind(ledger.hour - keptHours, at: 1)
        try hours.run()
        let counts = try census(on: connection)
        for state in [ReplayState.done, .dead] {
            let limit = retention.limit(of: state)
            let surplus = max(0, (counts[state] ?? 0) - limit.count)
            let old = try ended(state, before: ledger.now - limit.age.milliseconds, on: connection)
            let oldest = surplus > old.count ? try ended(state, before: .max, atMost: surplus, on: connection) : old
            for id in oldest {
                let statement = try connection.statement("DELETE FROM job WHERE id = ?")
                try statement.bind(id, at: 1)
                try statement.run()
                ledger.note(.forget, id, from: state, to: nil, .expired)
            }
            isMore = isMore || oldest.count >= slice
        }
        return isMore
    }

    // Not the heads of lines: a strict one that is dead blocks until somebody has decided.
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
            ORDER BY changed_at LIMIT ?3
            """
        )
        try statement.bind(Int64(state.rawValue), at: 1)
        try statement.bind(time, at: 2)
        try statement.bind(min(Int64(limit), slice), at: 3)
        var ids: [Int64] = []
        while try statement.step() { ids.append(statement.int64(0)) }
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

extension ReplayTable.Deed {
    /// Those that it is for, for people.
    var states: String {
        switch self {
        case .retry, .hold: "waiting or ready"
        case .release: "held by itself"
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
    /// Whether it can be done in its state. What runs is let come to its end.
    func allows(_ deed: ReplayTable.Deed) -> Bool {
        switch deed {
        case .retry: state == .waiting || state == .ready
        case .hold: state == .waiting || state == .ready
        case .release: state == .held && isHeld
        case .discard: state != .running && state != .done
        case .redrive: state == .dead || state == .needsReview
        }
    }

    mutating func take(_ deed: ReplayTable.Deed, at now: Int64) {
        switch deed {
        case .retry: (runAt, reason) = (min(runAt, now), .retried)
        case .hold: (isHeld, reason) = (true, .held)
        case .release: (isHeld, reason) = (false, .released)
        case .discard: (state, reason) = (.done, .discarded)
        case .redrive: redrive(at: now)
        }
    }

    // Whoever redrives answers for it: what may have been processed counts as looked into.
    private mutating func redrive(at now: Int64) {
        (state, runAt, attempts, unknownAt) = (.ready, now, 0, nil)
        (isHeld, reason) = (false, .redriven)
    }
}
