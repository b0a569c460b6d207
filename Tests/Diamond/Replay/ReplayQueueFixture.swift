import DiamondSQLite
import DiamondSchema
import DiamondTesting
import Foundation
import HTTPTypes

@testable import Diamond

/// The tables of a queue in a file of their own, with a clock that the test moves.
final class ReplayQueueFixture {
    let files = TemporaryStore()
    let database: SQLiteDatabase
    /// Milliseconds since 1970.
    var now: QueueTime = 1_767_225_600_000
    /// Milliseconds since the boot.
    var uptime: Uptime = 1_000_000
    private(set) var transitions: [ReplayTransition] = []

    /// - Parameter isDurable: `false` where no power failure is tested, and time matters.
    init(isDurable: Bool = false) throws {
        try Store(directory: files.directory).create()
        var configuration = DiamondSchema.replay
        if !isDurable { configuration.synchronous = .normal }
        database = try SQLiteDatabase(path: files.store.replayPath, configuration: configuration)
    }

    func write<Value>(
        _ body: (borrowing SQLiteConnection, inout ReplayLedger) throws(SQLiteError) -> Value
    ) throws -> Value {
        let (value, transitions) = try database.write { (connection) throws(SQLiteError) in
            var ledger = ReplayLedger(now: now, uptime: uptime)
            let value = try body(connection, &ledger)
            try ReplayTable.countTransitions(of: ledger, on: connection)
            return (value, ledger.transitions)
        }
        self.transitions += transitions
        return value
    }

    // MARK: Operations

    func draft(
        _ method: String = "POST",
        _ policy: ReplayPolicy = .durable,
        identity: String? = nil,
        lane: Lane = .default
    ) throws -> ReplayDraft {
        var request = Request("http://api.test/notes")
        request.method = .init(method) ?? .post
        if !request.method.isSafe { request.body = .json(["text": "a"]) }
        (request.identity, request.lane) = (identity, lane)
        request.replay = policy
        return try ReplayDraft(request, rules: KeyRules(), freshKey: UUID().uuidString)
    }

    @discardableResult
    func add(
        _ method: String = "POST",
        _ policy: ReplayPolicy = .durable,
        identity: String? = nil,
        lane: Lane = .default,
        after delay: Int64 = 0
    ) throws -> Int64 {
        var draft = try draft(method, policy, identity: identity, lane: lane)
        if delay > 0 { draft.runAt = now + delay }
        let addition = try write { (connection, ledger) throws(SQLiteError) in
            try ReplayTable.add(draft, limit: .max, on: connection, ledger: &ledger)
        }
        return addition.id ?? 0
    }

    func add(_ draft: ReplayDraft) throws -> ReplayAddition {
        try write { (connection, ledger) throws(SQLiteError) in
            try ReplayTable.add(draft, limit: .max, on: connection, ledger: &ledger)
        }
    }

    func owner(_ name: String = UUID().uuidString, lease: Int64 = 60_000, boot: String = "boot") throws -> Int64 {
        try write { (connection, ledger) throws(SQLiteError) in
            try ReplayTable.addOwner(
                name, boot: boot, process: 1, program: "test", lease: lease, on: connection, ledger: ledger)
        }
    }

    func claim(
        _ limit: Int = 1,
        by owner: Int64,
        of identities: ReplaySelection.Identities = .all,
        in lanes: ReplaySelection.Lanes = .all
    ) throws -> [ReplayClaim] {
        try write { (connection, ledger) throws(SQLiteError) in
            try ReplayTable.claim(
                limit, of: identities, in: lanes, by: owner, on: connection, ledger: &ledger
            ).jobs
        }
    }

    func begin(_ job: ReplayClaim, by owner: Int64) throws -> Bool {
        try write { (connection, ledger) throws(SQLiteError) in
            try ReplayTable.begin(job.id, token: job.token, by: owner, on: connection, ledger: &ledger)
        }
    }

    @discardableResult
    func finish(_ job: ReplayClaim, _ outcome: ReplayOutcome) throws -> ReplayState? {
        try write { (connection, ledger) throws(SQLiteError) in
            try ReplayTable.finish(
                job.id, token: job.token, ReplayReport(outcome, draw: 0.5), on: connection, ledger: &ledger)
        }
    }

    func bury(_ owner: Int64, mayBeCause: Bool = true) throws {
        try write { (connection, ledger) throws(SQLiteError) in
            try ReplayTable.removeOwner(owner, jobsMayBeCause: mayBeCause, on: connection, ledger: &ledger)
        }
    }

    @discardableResult
    func apply(_ action: ReplayAction, to id: Int64) throws -> ReplayEffect {
        try write { (connection, ledger) throws(SQLiteError) in
            try ReplayTable.apply(action, to: id, on: connection, ledger: &ledger)
        }
    }

    func job(_ id: Int64) throws -> ReplayJob? {
        try database.read { (connection) throws(SQLiteError) in
            try ReplayTable.job(id, at: ReplayMoment(time: now, lead: 0), on: connection)
        }
    }

    func state(_ id: Int64) throws -> ReplayState? { try job(id)?.state }
}

extension ReplayTable {
    /// Corrects the checksums of rows that SQL has changed, as though the queue had written them.
    static func reseal(on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        for id in try ids(after: 0, on: connection) {
            guard var row = try storedRow(id, on: connection)?.row else { continue }
            row.digest = ReplayRow.digest(of: try storedRequest(of: id, on: connection))
            try connection.execute("UPDATE job SET digest = \(row.digest), checksum = \(row.checksum) WHERE id = \(id)")
        }
    }
}

extension ReplayAddition {
    var id: Int64? {
        switch self {
        case .added(let id), .kept(let id), .replaced(let id): id
        case .merged, .refused: nil
        }
    }
}

extension ReplayOutcome {
    static let success = answered(status: 200)
    static let lost = failed(.unknown, code: "connectionLost", message: "the connection broke")
    static let unsent = failed(.unsent, code: "cannotConnect", message: "refused")
}

extension ReplayLedger {
    init(now: QueueTime, lead: Int64 = 0, uptime: Uptime) {
        self.init(at: ReplayMoment(time: now, lead: lead), uptime: uptime)
    }
}

extension ReplayClock {
    /// A clock that stands still: no lease ends and no job becomes due, however long a test waits for the machine.
    static let still: ReplayClock = {
        var clock = ReplayClock.system
        let start = clock.now()
        clock.now = { start }
        clock.uptime = { 0 }
        return clock
    }()
}

extension ReplayPolicy {
    static func with(priority: Int = 0, attempts: Int = 20) -> ReplayPolicy {
        var policy = ReplayPolicy.durable
        policy.priority = priority
        policy.attempts = attempts
        return policy
    }
}
