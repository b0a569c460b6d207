#if Postgres && canImport(CDiamondPostgres)
import Diamond
import Foundation

/// The changes of jobs in one transaction: it reads rows, which the rules change, and writes them back, many at a time.
final class PostgresJobs {
    let connection: PostgresConnection
    let moment: ReplayMoment
    let clock: PostgresClock
    /// The observable effects, reported after the commit.
    private(set) var commit = ReplayCommit()
    /// The mark of the jobs that this transaction claims, by which they are found if the answer to the commit is lost.
    var claimMark: Int64 = 0
    /// The number of open jobs after an insertion that has counted them; `nil` if none has.
    var openCount: Int?
    /// The changes of the counts of states and verbs.
    private var tally: [Tally: Int64] = [:]

    private struct Tally: Hashable {
        var hour: Int64
        var name: String
    }

    /// The classes of advisory locks: `DiaC`, `DiaK`, `DiaO` and `DiaS`.
    enum Lock: Int32 {
        case cache = 0x4469_6143
        case key = 0x4469_614B
        case owner = 0x4469_614F
        case schema = 0x4469_6153
    }

    /// The maximum number of rows in one transaction.
    static let batchSize = 500

    init(on connection: PostgresConnection, by clock: PostgresClock) {
        self.connection = connection
        self.clock = clock
        moment = clock.moment
    }

    var now: QueueTime { moment.time }

    // MARK: Effects

    func note(
        _ verb: ReplayTransition.Verb, of id: Int64, from old: ReplayState?, to new: ReplayState?, reason: ReplayReason
    ) {
        let at = moment.date(of: now)
        commit.transitions.append(
            ReplayTransition(jobID: id, verb: verb, from: old, to: new, reason: reason, at: at))
        tally[Tally(hour: now.hour, name: verb.description), default: 0] += 1
        if let old { tally[Tally(hour: 0, name: "\(old.rawValue)"), default: 0] -= 1 }
        if let new { tally[Tally(hour: 0, name: "\(new.rawValue)"), default: 0] += 1 }
    }

    /// The number of open jobs that this transaction has added, less those that it has ended.
    var openChange: Int {
        let names = Set(ReplayState.allCases.filter { $0.rawValue < 4 }.map { "\($0.rawValue)" })
        return tally.reduce(0) { $1.key.hour == 0 && names.contains($1.key.name) ? $0 + Int($1.value) : $0 }
    }

    func touch(_ id: Int64) { commit.touched.insert(id) }

    /// The new states, dead or in review, of the jobs that were ended.
    var ends: [ReplayState] { commit.transitions.compactMap(\.to).filter { $0 == .dead || $0 == .needsReview } }

    /// Writes the counts of the transitions. The last call before the commit.
    func complete() throws(PostgresError) {
        let changes = tally.filter { $0.value != 0 }
        guard !changes.isEmpty else { return }
        try connection.run(
            """
            INSERT INTO tally (hour, name, change)
            SELECT * FROM unnest(\(changes.keys.map(\.hour)), \(changes.keys.map(\.name)), \(Array(changes.values)))
            """)
    }

    /// Undoes what the transaction has written and noted. Nothing may be written after it.
    func undo() throws(PostgresError) {
        try connection.undo()
        commit = ReplayCommit()
        tally = [:]
    }

    // MARK: Locks

    /// Locks ordering keys against changes of their lines by other transactions. In ascending order, so that two
    /// transactions do not wait for each other.
    func lock(_ keys: some Sequence<String?>) throws(PostgresError) {
        let keys = keys.compactMap(\.self)
        guard !keys.isEmpty else { return }
        try connection.run(
            """
            SELECT pg_advisory_xact_lock(\(Int64(Lock.key.rawValue))::int, hash)
            FROM (SELECT DISTINCT hashtext(key) AS hash FROM unnest(\(keys)) AS key ORDER BY 1) AS hashes
            """)
    }

    /// Locks the ordering keys of jobs.
    ///
    /// - Parameter includesEnded: whether some of the jobs may have left the table of open ones. They may return.
    func lockKeys(of ids: [Int64], includingEnded includesEnded: Bool = true) throws(PostgresError) {
        try connection.run(Self.keyLock(of: ids, in: includesEnded ? "every_job" : "job"))
    }

    private static func keyLock(of ids: [Int64], in table: PostgresSQL) -> PostgresSQL {
        """
        SELECT pg_advisory_xact_lock(\(Int64(Lock.key.rawValue))::int, hash) FROM (
            SELECT DISTINCT hashtext(ordering_key) AS hash FROM \(table) WHERE id = ANY(\(ids)) ORDER BY 1) AS hashes
        WHERE hash IS NOT NULL
        """
    }

    // MARK: Reading

    /// A job in its table.
    struct Stored {
        var row: ReplayRow
        /// Whether it is in the table of jobs that have ended.
        var isEnded: Bool
    }

    static let columns: PostgresSQL = """
        id, state, reason, identity, ordering_key, is_strict, is_head, is_held, run_at, expires_at, attempts,
        attempt_limit, token, owner, sent_at, unknown_at, may_have_acted, key_lifetime, is_idempotent, unique_key,
        status, method, lane, digest, creates
        """

    /// Returns jobs that no other transaction changes until this one ends, in the order of their ids.
    ///
    /// - Parameter isRunning: whether only running jobs matter. Then the jobs that have ended are not searched.
    func rows(_ ids: [Int64], isRunning: Bool = false) throws(PostgresError) -> [Int64: Stored] {
        try lockKeys(of: ids, includingEnded: !isRunning)
        var rows: [Int64: Stored] = [:]
        for row in try connection.rows(Self.lockedRows(ids)).map(ReplayRow.init) {
            rows[row.id] = Stored(row: row, isEnded: false)
        }
        let missing = isRunning ? [] : ids.filter { rows[$0] == nil }
        guard !missing.isEmpty else { return rows }
        for row in try connection.rows(
            "SELECT \(Self.columns) FROM ended WHERE id = ANY(\(missing)) ORDER BY id FOR UPDATE"
        ).map(ReplayRow.init) {
            rows[row.id] = Stored(row: row, isEnded: true)
        }
        return rows
    }

    private static func lockedRows(_ ids: [Int64]) -> PostgresSQL {
        "SELECT \(columns) FROM job WHERE id = ANY(\(ids)) ORDER BY id FOR UPDATE"
    }

    func row(_ id: Int64) throws(PostgresError) -> Stored? { try rows([id])[id] }

    /// Open jobs, and all that decides whether they may be sent.
    struct SendingFacts {
        var rows: [Int64: ReplayRow]
        var holds: Holds
        /// The owners that may still act.
        var owners: Set<Int64>
    }

    /// Does the same as ``rows(_:isRunning:)`` for running jobs, with all that decides on them, in one round trip.
    ///
    /// - Parameter owners: the owners that act. Their rows are locked first, so that nobody rescues their jobs.
    func sendingFacts(of ids: [Int64], owners: [Int64] = []) throws(PostgresError) -> SendingFacts {
        let found = try connection.rows([
            living(owners), Self.keyLock(of: ids, in: "job"), Self.lockedRows(ids),
            """
            SELECT kind || ' ' || name AS hold FROM hold WHERE kind IN ('queue', 'engine') UNION ALL
            \(Self.holds(
                keys: "ARRAY(SELECT ordering_key FROM job WHERE id = ANY(\(ids)))",
                identities: "ARRAY(SELECT identity FROM job WHERE id = ANY(\(ids)))",
                lanes: "ARRAY(SELECT lane FROM job WHERE id = ANY(\(ids)))"))
            """,
        ])
        return SendingFacts(
            rows: Dictionary(uniqueKeysWithValues: found[2].map(ReplayRow.init).map { ($0.id, $0) }),
            holds: Holds(found[3].map { $0.text("hold") }), owners: Set(found[0].map { $0.int64("id") }))
    }

    /// The statement that locks owners, and returns those that may act: they have a row, and their leases have not ended.
    private func living(_ owners: [Int64]) -> PostgresSQL {
        "SELECT id FROM owner WHERE id = ANY(\(owners)) AND lease_until > \(clock.sql) ORDER BY id FOR KEY SHARE"
    }

    /// Whether an owner may still act.
    func isAlive(_ owner: Int64) throws(PostgresError) -> Bool { try connection.rows(living([owner])).count > 0 }

    func request(of id: Int64) throws(PostgresError) -> Data? {
        try connection.rows("SELECT request FROM payload WHERE job = \(id)").first?.data("request")
    }

    // MARK: Writing

    /// A job to be written.
    struct Change {
        var row: ReplayRow
        var verb: ReplayTransition.Verb
        /// The state before; the same as the new one for a job that runs on.
        var old: ReplayState
        /// Whether it was in the table of jobs that have ended.
        var wasEnded = false
    }

    /// Writes the changes of jobs, notes the transitions, and updates the heads of their ordering keys.
    func save(_ changes: [Change]) throws(PostgresError) {
        guard !changes.isEmpty else { return }
        let returning = changes.filter { $0.wasEnded && $0.row.isOpen }
        if !returning.isEmpty { try bringBack(returning.map(\.row.id)) }
        try update(changes.filter { $0.row.isOpen || $0.wasEnded }.map(\.row))
        try moveToEnded(changes.filter { !$0.row.isOpen && !$0.wasEnded }.map(\.row))
        for change in changes {
            note(change.verb, of: change.row.id, from: change.old, to: change.row.state, reason: change.row.reason)
        }
        try updateHeads(changes)
        try updateReasons(after: changes)
    }

    func save(
        _ row: ReplayRow, _ verb: ReplayTransition.Verb, from old: ReplayState, wasEnded: Bool = false
    ) throws(PostgresError) {
        try save([Change(row: row, verb: verb, old: old, wasEnded: wasEnded)])
    }

    /// Writes rows that stay where they are. A job that becomes ready is sent after all that are ready already.
    private func update(_ rows: [ReplayRow]) throws(PostgresError) {
        guard !rows.isEmpty else { return }
        for (table, isOpen) in [("job", true), ("ended", false)] as [(PostgresSQL, Bool)] {
            let rows = rows.filter { $0.isOpen == isOpen }
            guard !rows.isEmpty else { continue }
            try connection.run(
                """
                UPDATE \(table) AS job SET state = new.state, reason = new.reason,
                    is_head = job.is_head AND new.is_in_line, is_held = new.is_held, run_at = new.run_at,
                    expires_at = new.expires_at, attempts = new.attempts, token = new.token, owner = new.owner,
                    sent_at = new.sent_at, unknown_at = new.unknown_at, may_have_acted = new.may_have_acted,
                    status = new.status, changed_at = \(now.rawValue), turn = CASE
                        WHEN new.state = 0 AND NOT job.state = 0 THEN pg_current_xact_id()::text::bigint
                        WHEN new.state = 2 AND NOT job.state = 2 THEN \(claimMark) ELSE job.turn END
                \(values(rows)) WHERE job.id = new.id AND job.id = ANY(\(rows.map(\.id)))
                """)
        }
    }

    /// Moves jobs that have ended out of the way of the others.
    private func moveToEnded(_ rows: [ReplayRow]) throws(PostgresError) {
        guard !rows.isEmpty else { return }
        try connection.run(
            """
            WITH gone AS (DELETE FROM job WHERE id = ANY(\(rows.map(\.id))) RETURNING *)
            INSERT INTO ended (id, state, reason, identity, ordering_key, is_strict, is_head, is_held, priority, turn,
                run_at, expires_at, enqueued_at, changed_at, attempts, attempt_limit, token, owner, sent_at, unknown_at,
                may_have_acted, key_lifetime, is_idempotent, unique_key, has_name, status, failure, idempotency_key,
                method, url, host, lane, kind, tags, metadata, digest, creates)
            SELECT gone.id, new.state, new.reason, identity, ordering_key, is_strict, is_head, new.is_held, priority,
                turn, new.run_at, new.expires_at, enqueued_at, \(now.rawValue), new.attempts, attempt_limit, new.token,
                new.owner, new.sent_at, new.unknown_at, new.may_have_acted, key_lifetime, is_idempotent, unique_key,
                has_name, new.status, failure, idempotency_key, method, url, host, lane, kind, tags, metadata, digest,
                creates
            FROM gone JOIN (SELECT * \(values(rows))) AS new USING (id)
            """)
    }

    private func bringBack(_ ids: [Int64]) throws(PostgresError) {
        // The rules have decided that the jobs are open again. They enter their lines below.
        try connection.run(
            """
            WITH back AS (DELETE FROM ended WHERE id = ANY(\(ids)) RETURNING *)
            INSERT INTO job SELECT * FROM back
            """)
        try connection.run(
            """
            UPDATE job SET is_head = ordering_key IS NULL, is_behind = ordering_key IS NOT NULL,
                turn = pg_current_xact_id()::text::bigint
            WHERE id = ANY(\(ids))
            """)
    }

    /// The changing columns of rows, as a table named `new`.
    private func values(_ rows: [ReplayRow]) -> PostgresSQL {
        """
        FROM unnest(\(rows.map(\.id)), \(rows.map(\.state.rawValue)), \(rows.map(\.reason.description)),
            \(rows.map { $0.orderingKey == nil || $0.isInLine }), \(rows.map(\.isHeld)), \(rows.map(\.runAt.rawValue)),
            \(rows.map { $0.expiresAt?.rawValue }), \(rows.map(\.attempts)), \(rows.map(\.token)), \(rows.map(\.owner)),
            \(rows.map { $0.sentAt?.rawValue }), \(rows.map { $0.unknownSince?.rawValue }),
            \(rows.map(\.serverMayHaveActed)), \(rows.map { $0.status.map(Int64.init) }))
            AS new (id, state, reason, is_in_line, is_held, run_at, expires_at, attempts, token, owner, sent_at,
                unknown_at, may_have_acted, status)
        """
    }

    /// Writes the start of attempts. This is no transition: the jobs run already.
    func saveSending(_ rows: [ReplayRow]) throws(PostgresError) {
        guard !rows.isEmpty else { return }
        try connection.run(
            """
            UPDATE job SET sent_at = new.sent_at, unknown_at = new.unknown_at
            FROM unnest(\(rows.map(\.id)), \(rows.map { $0.sentAt?.rawValue }), \(rows.map { $0.unknownSince?.rawValue }))
                AS new (id, sent_at, unknown_at)
            WHERE job.id = new.id AND job.id = ANY(\(rows.map(\.id)))
            """)
    }

    // MARK: Heads

    /// Sets the heads of the lines that have changed.
    private func updateHeads(_ changes: [Change]) throws(PostgresError) {
        let left = changes.filter { change in
            change.row.orderingKey != nil && change.row.isHead && !change.row.isInLine && !change.wasEnded
        }
        try advance(left.map(\.row))
        for change in changes where change.wasEnded && change.row.isInLine { try enterLine(change.row) }
    }

    /// Makes the next jobs of lines their heads after these ones, the heads before, have left. Searches from their ids
    /// on, because the entries of earlier jobs in the index may still be there.
    func advance(_ rows: [ReplayRow]) throws(PostgresError) {
        let rows = rows.filter { $0.orderingKey != nil }
        guard !rows.isEmpty else { return }
        try connection.run(
            """
            UPDATE job SET is_head = true, turn = pg_current_xact_id()::text::bigint
            WHERE id = ANY(ARRAY(SELECT least(
                    (SELECT id FROM job WHERE ordering_key = key AND is_behind ORDER BY ordering_key, id LIMIT 1),
                    (SELECT id FROM job WHERE ordering_key = key AND id > last ORDER BY ordering_key, id LIMIT 1))
                FROM unnest(\(rows.map { $0.orderingKey ?? "" }), \(rows.map(\.id))) AS line (key, last)))
            """)
    }

    /// The highest id of a head of a line that has ended; 0 if none is known. The jobs in the line that are not behind
    /// have higher ids.
    static func lastEnd(of key: PostgresSQL) -> PostgresSQL {
        """
        coalesce((SELECT id FROM ended WHERE ordering_key = \(key) AND is_head
            ORDER BY ordering_key DESC, id DESC LIMIT 1), 0)
        """
    }

    /// Lets a job that is behind become the head of its line, if it is the first, and the head does not run.
    func enterLine(_ row: ReplayRow) throws(PostgresError) {
        guard let key = row.orderingKey else { return }
        // The head is behind, or the first of those that are not. Claims do not lock keys. So this waits for one of the
        // head, and then sees that it runs.
        let head = try connection.rows(
            """
            SELECT id, state FROM job WHERE is_head AND id <> \(row.id) AND id = ANY(
                ARRAY(SELECT id FROM job WHERE ordering_key = \(key) AND is_behind AND is_head AND id <> \(row.id)
                    ORDER BY ordering_key, id LIMIT 1)
                || ARRAY(SELECT id FROM job WHERE ordering_key = \(key) AND NOT is_behind
                    AND id > \(Self.lastEnd(of: "\(key)")) ORDER BY ordering_key, id LIMIT 1)) FOR UPDATE
            """
        ).first
        if let head, head.int64("state") == 2 || head.int64("id") < row.id { return }
        if let head {
            // It is no longer the first, but is found after this one, because its id is higher.
            try connection.run("UPDATE job SET is_head = false WHERE id = \(head.int64("id"))")
        }
        try connection.run(
            "UPDATE job SET is_head = true, turn = pg_current_xact_id()::text::bigint WHERE id = \(row.id)")
    }

    // MARK: Holds

    /// Whether the queue or the engines are held.
    func isQueueHeld() throws(PostgresError) -> Bool {
        try connection.rows("SELECT 1 FROM hold WHERE kind IN ('queue', 'engine')").count > 0
    }

    /// The holds that cover some of these jobs.
    struct Holds {
        // The server compares bytes, and not characters as `String` does.
        private let names: Set<Data>

        /// - Parameter names: the kinds and names of holds: `key cart-7`.
        init(_ names: [String] = []) { self.names = Set(names.map { Data($0.utf8) }) }

        /// Whether the queue or the engines are held, if the names include these holds.
        var coverQueue: Bool {
            names.contains { $0.starts(with: Data("queue ".utf8)) || $0.starts(with: Data("engine ".utf8)) }
        }

        func cover(_ row: ReplayRow) -> Bool { cover(key: row.orderingKey, identity: row.identity, lane: row.lane) }

        func cover(key: String?, identity: String?, lane: String) -> Bool {
            func cover(_ kind: String, _ name: String?) -> Bool {
                name.map { names.contains(Data("\(kind) \($0)".utf8)) } ?? false
            }
            return !names.isEmpty && (cover("key", key) || cover("identity", identity) || cover("lane", lane))
        }
    }

    func holds(on rows: [ReplayRow]) throws(PostgresError) -> Holds {
        try holds(
            keys: rows.compactMap(\.orderingKey), identities: rows.compactMap(\.identity), lanes: rows.map(\.lane))
    }

    func holds(keys: [String], identities: [String], lanes: [String]) throws(PostgresError) -> Holds {
        let holds = Self.holds(keys: "\(keys)", identities: "\(identities)", lanes: "\(lanes)")
        return Holds(try connection.rows(holds).map { $0.text("hold") })
    }

    /// Returns the statement that finds holds by arrays of names. Not with OR, which would read all holds.
    static func holds(keys: PostgresSQL, identities: PostgresSQL, lanes: PostgresSQL) -> PostgresSQL {
        """
        SELECT kind || ' ' || name AS hold FROM hold WHERE kind = 'key' AND name = ANY(\(keys))
        UNION ALL SELECT kind || ' ' || name FROM hold WHERE kind = 'identity' AND name = ANY(\(identities))
        UNION ALL SELECT kind || ' ' || name FROM hold WHERE kind = 'lane' AND name = ANY(\(lanes))
        """
    }

    /// Sets the states of jobs that neither run nor have ended, by their time and the holds.
    func updateState(of row: inout ReplayRow) throws(PostgresError) {
        try row.updateState(at: now) { (row) throws(PostgresError) in try holds(on: [row]).cover(row) }
    }

    // MARK: Failures

    /// Adds failed attempts to the histories of jobs, and deletes the oldest beyond 10. Deaths of owners stay as long as
    /// they count.
    func add(_ failures: [(id: Int64, failure: ReplayDraft.History.Failure)]) throws(PostgresError) {
        for (id, failure) in failures {
            try connection.run(
                """
                INSERT INTO attempt (job, number, started_at, ended_at, code, message)
                VALUES (\(id), 1 + coalesce(
                        (SELECT number FROM attempt WHERE job = \(id) ORDER BY id DESC LIMIT 1), 0),
                    \(failure.startedAt.rawValue), \(now.rawValue), \(failure.code), \(failure.message))
                """)
            for table in ["job", "ended"] as [PostgresSQL] {
                try connection.run(
                    """
                    UPDATE \(table) SET failure = \(failure.code)
                    WHERE id = \(id) AND failure IS DISTINCT FROM \(failure.code)
                    """)
            }
            try connection.run(
                """
                DELETE FROM attempt
                WHERE job = \(id) AND (code <> 'died' OR ended_at < \((now - ReplayRow.poisonWindow).rawValue))
                    AND id <= (SELECT id FROM attempt WHERE job = \(id) ORDER BY id DESC LIMIT 1 OFFSET 10)
                """)
        }
    }

    /// Returns the number of deaths that count for each job.
    func deaths(of ids: [Int64]) throws(PostgresError) -> [Int64: Int] {
        let rows = try connection.rows(
            """
            SELECT job, count(*) AS count FROM attempt WHERE job = ANY(\(ids)) AND code = 'died'
                AND ended_at >= \((now - ReplayRow.poisonWindow).rawValue) GROUP BY job
            """)
        return Dictionary(uniqueKeysWithValues: rows.map { ($0.int64("job"), Int($0.int64("count"))) })
    }

    // MARK: Deleting

    /// Deletes jobs, with their requests, answers and failures.
    func delete(_ rows: [Stored], reason: ReplayReason) throws(PostgresError) {
        let ids = rows.map(\.row.id)
        guard !ids.isEmpty else { return }
        for table in ["job", "ended"] as [PostgresSQL] {
            try connection.run("DELETE FROM \(table) WHERE id = ANY(\(ids))")
        }
        for table in ["payload", "answer", "attempt", "edge"] as [PostgresSQL] {
            try connection.run("DELETE FROM \(table) WHERE job = ANY(\(ids))")
        }
        for stored in rows { note(.forget, of: stored.row.id, from: stored.row.state, to: nil, reason: reason) }
        // The last of a line that leave it at once: the next one is after them all.
        try advance(rows.filter { $0.row.isHead && !$0.isEnded }.map(\.row))
        for name in Set(rows.map(\.row.creates)).sorted() where !name.isEmpty { try updateReasons(awaiting: name) }
    }
}

extension ReplayRow {
    /// Whether the job is in the table of jobs that have not ended, or stop later ones of their line.
    var isOpen: Bool { !state.isEnd || isInLine }

    /// Creates a row from ``PostgresJobs/columns``.
    init(_ row: PostgresRows.Row) {
        self.init(id: row.int64("id"))
        method = row.text("method")
        identity = row.optionalText("identity")
        orderingKey = row.optionalText("ordering_key")
        isStrict = row.bool("is_strict")
        lane = row.text("lane")
        isIdempotent = row.bool("is_idempotent")
        keyLifetime = row.integer("key_lifetime")
        expiresAt = row.integer("expires_at").map(QueueTime.init)
        attemptLimit = Int(row.int64("attempt_limit"))
        uniqueKey = row.optionalData("unique_key")
        digest = row.int64("digest")
        creates = row.text("creates")
        state = ReplayState(rawValue: Int(row.int64("state"))) ?? .held
        reason = ReplayReason(description: row.text("reason"))
        isHead = row.bool("is_head")
        isHeld = row.bool("is_held")
        runAt = row.time("run_at")
        attempts = Int(row.int64("attempts"))
        token = row.int64("token")
        owner = row.integer("owner")
        sentAt = row.integer("sent_at").map(QueueTime.init)
        unknownSince = row.integer("unknown_at").map(QueueTime.init)
        status = row.integer("status").map(Int.init)
        serverMayHaveActed = row.bool("may_have_acted")
    }
}
#endif
