import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes

@testable import Diamond

/// Producers, workers, a server and a disk, all unreliable, with a clock of their own, over the queue's real tables.
///
/// All events are drawn from one seed. Steps run in transactions, as with group commit. Some transactions are
/// lost, as when the disk fails, and their steps have not happened.
struct ReplaySimulation {
    /// A worker's job.
    struct Work: Hashable {
        enum Stage: Hashable { case claimed, begun, sent(ReplayOutcome) }

        var job: ReplayClaim
        var owner: Int64
        var stage = Stage.claimed
    }

    struct Worker {
        var owner: Int64?
        /// Replaced by a new one after its death, so that jobs of the old one come back with their old tokens.
        var works: [Work] = []
    }

    /// A job whose addition was acknowledged to its producer.
    struct AcknowledgedJob: Hashable {
        var key: String?
        var isStrict = false
        /// The number of effects at the server.
        var effects = 0
        /// Whether the server recognizes a repetition.
        var isHonored = false
        var isIdempotent = false
        /// Whether a later job may have been sent before it: it was dead, in review, or redriven.
        var wasPassed = false
        var isGone = false
        var wasRedriven = false
    }

    struct World {
        var known: [Int64: AcknowledgedJob] = [:]
        /// Their ids in the order of enqueueing: a seed produces the same steps every time.
        var ids: [Int64] = []
        var workers: [Worker]
        /// The works of workers that have died or been away for too long, and do not know it.
        var orphans: [Work] = []
        /// The last job of each ordering key that had its effect.
        var last: [String: Int64] = [:]
        var held: Set<String> = []
        /// The local ids of the objects that jobs create.
        var objects: [String] = []
    }

    let fixture: ReplayQueueFixture
    /// One draft of each method, with a server that knows keys and one that does not, with an identity and without.
    /// They are made once, because encoding their requests takes longer than a step.
    private let drafts: [ReplayDraft]
    private let rules = KeyRules()
    /// Whether half of the jobs create objects, or refer to them.
    private let hasObjects: Bool
    var random: SplitMix
    var world: World
    var lostTransactions = 0
    private(set) var violations: [String] = []

    init(seed: UInt64, hasObjects: Bool = false) throws {
        self.hasObjects = hasObjects
        let fixture = try ReplayQueueFixture()
        drafts = try ["POST", "PUT", "DELETE", "PATCH"].flatMap { method in
            try [7200, nil].flatMap { lifetime in
                try ["anna", nil].map { identity in
                    let policy = ReplayPolicy(.durable, keyLifetime: lifetime.map { .seconds($0) })
                    return try fixture.draft(method, policy, identity: identity)
                }
            }
        }
        self.fixture = fixture
        random = SplitMix(state: seed)
        world = World(workers: Array(repeating: Worker(), count: 4))
    }

    /// Runs steps, several in each transaction.
    mutating func run(_ steps: Int) throws {
        var left = steps
        while left > 0, violations.isEmpty {
            let count = min(left, Int.random(in: 1...60, using: &random))
            left -= count
            try transaction(count)
        }
    }

    private mutating func transaction(_ count: Int) throws {
        passTime()
        let before = world
        let isLost = chance(0.02)
        var copy = self
        do {
            try fixture.write { (connection, ledger) throws(SQLiteError) in
                for _ in 0..<count { try copy.step(on: connection, ledger: &ledger) }
                if chance(0.1) { try copy.check(on: connection) }
                // The disk fails at the end of the transaction.
                if isLost { throw SQLiteError(.ioError, "lost", path: "") }
            }
            self = copy
        } catch let error as SQLiteError where error.message == "lost" {
            (random, violations) = (copy.random, copy.violations)
            world = before
            lostTransactions += 1
        }
    }

    private mutating func chance(_ probability: Double) -> Bool {
        Double.random(in: 0..<1, using: &random) < probability
    }

    private mutating func passTime() {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<60: advance(Int64.random(in: 0...2_000, using: &random))
        case 60..<90: advance(Int64.random(in: 0...60_000, using: &random))
        case 90..<93: advance(Int64.random(in: 0...4_000_000, using: &random))
        // The wall clock is set.
        case 93..<95: fixture.now += Int64.random(in: -3_600_000...3_600_000, using: &random)
        default: break
        }
    }

    private func advance(_ milliseconds: Int64) {
        fixture.now += milliseconds
        fixture.uptime += milliseconds
    }

    // MARK: Steps

    private mutating func step(
        on connection: borrowing SQLiteConnection, ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        let worker = Int.random(in: world.workers.indices, using: &random)
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<14: try produce(on: connection, ledger: &ledger)
        case 14..<34: try claim(worker, on: connection, ledger: &ledger)
        case 34..<54: try begin(worker, on: connection, ledger: &ledger)
        case 54..<70: send(worker)
        case 70..<88: try finish(worker, on: connection, ledger: &ledger)
        case 88..<90: try die(worker, on: connection, ledger: &ledger)
        case 90..<91: try rescue(on: connection, ledger: &ledger)
        case 91..<94: try continueOrphan(on: connection, ledger: &ledger)
        case 94..<96: try tend(on: connection, ledger: &ledger)
        case 96..<97: try hold(on: connection, ledger: &ledger)
        default: try renew(worker, on: connection, ledger: &ledger)
        }
    }

    private mutating func produce(
        on connection: borrowing SQLiteConnection, ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        let method = Int.random(in: 0..<4, using: &random)
        let server = chance(0.8) ? 0 : 2
        var draft = drafts[method * 4 + server + (chance(0.3) ? 0 : 1)]
        draft.policy.orderingKey = ["a", "b", "c", nil].randomElement(using: &random) ?? nil
        draft.policy.order = chance(0.3) ? .strict : .ordered
        draft.policy.priority = Int.random(in: -1...1, using: &random)
        draft.policy.attempts = Int.random(in: 1...6, using: &random)
        if chance(0.2) { draft.runAt = ledger.now + Int64.random(in: 1...60_000, using: &random) }
        if hasObjects, chance(0.5), let other = referring(as: draft.policy) { draft = other }
        let addition = try ReplayTable.add(draft, limit: 300, rules: rules, on: connection, ledger: &ledger)
        guard case .added(let id) = addition else { return }
        if let name = draft.policy.creates?.localID { world.objects.append(name) }
        world.ids.append(id)
        world.known[id] = AcknowledgedJob(
            key: draft.policy.orderingKey, isStrict: draft.policy.order == .strict,
            isHonored: draft.idempotencyKey != nil, isIdempotent: draft.isIdempotent)
    }

    /// Returns a request that creates an object, or refers to one, or both.
    private mutating func referring(as policy: ReplayPolicy) -> ReplayDraft? {
        var request = Request("http://api.test/notes", method: .post)
        request.replay = policy
        var body: [String: JSONValue] = ["text": "a"]
        if chance(0.7), let name = world.objects.randomElement(using: &random) { body["of"] = .string(name) }
        if chance(0.6) {
            let digits = String(world.objects.count)
            let zeros = String(repeating: "0", count: 12 - digits.count)
            let name = "local:00000000-0000-4000-8000-\(zeros)\(digits)"
            request.replay.creates = ReplayCreation(name, paths: [["id"]])
            request.replay.metadata = ["localID": .string(name)]
        }
        request.body = .json(.object(body))
        request.replay.awaits = request.localIDs
        return try? ReplayDraft(request, rules: rules, freshKey: "key")
    }

    private mutating func claim(
        _ worker: Int, on connection: borrowing SQLiteConnection, ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        guard world.workers[worker].works.count < 5 else { return }
        if world.workers[worker].owner == nil {
            world.workers[worker].owner = try ReplayTable.addOwner(
                UUID().uuidString, boot: "boot", process: 1, program: "simulation", lease: 60_000, on: connection,
                ledger: ledger)
        }
        guard let owner = world.workers[worker].owner,
            try ReplayTable.isAlive(owner, at: ledger.uptime, on: connection)
        else { return }
        let identities: ReplaySelection.Identities = chance(0.5) ? .all : .only(chance(0.5) ? ["anna"] : [])
        for job in try ReplayTable.claim(
            Int.random(in: 1...3, using: &random), of: identities, by: owner, on: connection, ledger: &ledger
        ).jobs {
            if case .only(let names) = identities, let identity = try ReplayTable.row(job.id, on: connection)?.identity,
                !names.contains(identity)
            {
                violate("job \(job.id) of \(identity) was claimed for others")
            }
            if let row = try ReplayTable.row(job.id, on: connection), try ReplayTable.isHeld(row, on: connection) {
                violate("job \(job.id) was claimed, and is held")
            }
            if hasObjects, (try? Request(json: job.request))?.localIDs.isEmpty != true {
                violate("job \(job.id) was claimed before its ids were known")
            }
            world.workers[worker].works.append(Work(job: job, owner: owner))
        }
    }

    private mutating func begin(
        _ worker: Int, on connection: borrowing SQLiteConnection, ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        guard let index = world.workers[worker].works.firstIndex(where: { $0.stage == .claimed }),
            let owner = world.workers[worker].owner
        else { return }
        let work = world.workers[worker].works[index]
        if try ReplayTable.begin(work.job.id, token: work.job.token, by: owner, on: connection, ledger: &ledger) {
            if work.owner != owner { violate("job \(work.job.id) was begun by another than its owner") }
            world.workers[worker].works[index].stage = .begun
        } else {
            world.workers[worker].works.remove(at: index)
        }
    }

    /// The server receives the request, or not, and answers, or not.
    private mutating func send(_ worker: Int) {
        guard let index = world.workers[worker].works.firstIndex(where: { $0.stage == .begun }) else { return }
        world.workers[worker].works[index].stage = .sent(outcome(of: world.workers[worker].works[index].job.id))
    }

    private mutating func outcome(of id: Int64) -> ReplayOutcome {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<55:
            act(id)
            return .success
        case 55..<65:
            act(id)
            return .lost
        case 65..<70: return .lost
        case 70..<80: return .unsent
        case 80..<84: return .failed(.offline, code: "offline", message: "no route")
        case 84..<90: return .answered(status: 503, isTransient: true, pushBack: .seconds(30))
        case 90..<92: return .answered(status: 500, isTransient: true)
        case 92..<95: return .answered(status: 422)
        case 95..<97: return .answered(status: 401)
        default: return .failed(.interrupted, code: "cancelled", message: "stopped")
        }
    }

    private mutating func act(_ id: Int64) {
        guard var known = world.known[id] else { return violate("job \(id) was sent that nobody was told of") }
        defer { world.known[id] = known }
        let isSecond = known.effects > 0
        if isSecond, known.isHonored || known.isIdempotent { return }
        known.effects += 1
        if isSecond, !known.wasRedriven { violate("job \(id) had a second effect") }
        guard let key = known.key, !isSecond else { return }
        if let last = world.last[key], last > id, !known.wasPassed { violate("job \(id) of \(key) came after \(last)") }
        world.last[key] = max(world.last[key] ?? 0, id)
    }

    private mutating func finish(
        _ worker: Int, on connection: borrowing SQLiteConnection, ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        guard
            let index = world.workers[worker].works.firstIndex(where: {
                if case .sent = $0.stage { true } else { false }
            })
        else { return }
        let work = world.workers[worker].works.remove(at: index)
        try acknowledge(work, on: connection, ledger: &ledger)
    }

    private mutating func acknowledge(
        _ work: Work, on connection: borrowing SQLiteConnection, ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        guard case .sent(let outcome) = work.stage else { return }
        let row = try ReplayTable.row(work.job.id, on: connection)
        let report = ReplayReport(
            outcome, answer: outcome == .success ? Self.answer : nil, draw: .random(in: 0..<1, using: &random))
        let state = try ReplayTable.finish(
            work.job.id, token: work.job.token, report, on: connection, ledger: &ledger)
        if state != nil, row?.token != work.job.token { violate("an old token was taken for job \(work.job.id)") }
        if state == .done { world.known[work.job.id]?.isGone = true }
        notePassing(work.job.id, state)
    }

    private static let answer = ReplayAnswer(status: .created, body: Data(#"{"id": 7}"#.utf8))

    private mutating func notePassing(_ id: Int64, _ state: ReplayState?) {
        if state == .dead || state == .needsReview { world.known[id]?.wasPassed = true }
    }

    // MARK: Deaths

    private mutating func die(
        _ worker: Int, on connection: borrowing SQLiteConnection, ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        guard let owner = world.workers[worker].owner else { return }
        // A worker that is only taken for dead goes on with its jobs.
        makeOrphans(of: owner)
        world.workers[worker] = Worker()
        try bury(owner, on: connection, ledger: &ledger)
    }

    private mutating func makeOrphans(of owner: Int64) {
        for index in world.workers.indices {
            world.orphans += world.workers[index].works.filter { $0.owner == owner }
            world.workers[index].works.removeAll { $0.owner == owner }
        }
    }

    private mutating func rescue(
        on connection: borrowing SQLiteConnection, ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        for owner in try ReplayTable.owners(on: connection) where owner.leaseUntil <= ledger.uptime {
            makeOrphans(of: owner.id)
            for index in world.workers.indices where world.workers[index].owner == owner.id {
                world.workers[index] = Worker()
            }
            try bury(owner.id, on: connection, ledger: &ledger)
        }
    }

    private mutating func bury(
        _ owner: Int64, on connection: borrowing SQLiteConnection, ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        let before = ledger.transitions.count
        try ReplayTable.removeOwner(owner, jobsMayBeCause: !chance(0.3), on: connection, ledger: &ledger)
        for transition in ledger.transitions.dropFirst(before) { notePassing(transition.jobID, transition.to) }
    }

    /// A worker that was taken for dead continues. It may send a request that it had begun: the queue cannot prevent
    /// that, but the server's idempotency key does. It must not begin another one.
    private mutating func continueOrphan(
        on connection: borrowing SQLiteConnection, ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        guard !world.orphans.isEmpty else { return }
        let index = Int.random(in: world.orphans.indices, using: &random)
        var orphan = world.orphans.remove(at: index)
        switch orphan.stage {
        case .claimed:
            if try ReplayTable.begin(
                orphan.job.id, token: orphan.job.token, by: orphan.owner, on: connection, ledger: &ledger)
            {
                violate("a dead owner began job \(orphan.job.id)")
            }
        case .begun:
            orphan.stage = .sent(.success)
            world.orphans.append(orphan)
        case .sent(let outcome):
            let state = try ReplayTable.finish(
                orphan.job.id, token: orphan.job.token, ReplayReport(outcome, draw: 0), on: connection,
                ledger: &ledger)
            if state != nil { violate("a dead owner's word was taken for job \(orphan.job.id)") }
        }
    }

    private mutating func renew(
        _ worker: Int, on connection: borrowing SQLiteConnection, ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        guard let owner = world.workers[worker].owner else { return }
        guard try ReplayTable.isAlive(owner, at: ledger.uptime, on: connection) else {
            // It was away: it goes on with its jobs as another owner, until the old one is buried.
            world.workers[worker].owner = nil
            return
        }
        _ = try ReplayTable.renew(owner, lease: 60_000, on: connection, ledger: ledger)
    }

    // MARK: User actions

    private mutating func tend(
        on connection: borrowing SQLiteConnection, ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        guard let id = world.ids.randomElement(using: &random) else { return }
        let actions: [ReplayAction] = [.retry, .hold, .release, .release, .redrive, .redrive, .discard]
        let action = actions.randomElement(using: &random) ?? .retry
        guard case .done(let state) = try ReplayTable.apply(action, to: id, on: connection, ledger: &ledger) else {
            return
        }
        if action == .redrive {
            world.known[id]?.wasRedriven = true
            world.known[id]?.wasPassed = true
        }
        if state == .done { world.known[id]?.isGone = true }
    }

    private mutating func hold(
        on connection: borrowing SQLiteConnection, ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        let names: [ReplayHold] = [.key("a"), .key("b"), .identity("anna"), .queue, .lane(.default)]
        let hold = names.randomElement(using: &random) ?? .queue
        let isHolding = chance(0.3)
        if isHolding {
            try ReplayTable.add(hold, reason: "", on: connection, ledger: ledger)
        } else {
            try ReplayTable.remove(hold, on: connection, ledger: &ledger)
        }
        // The process may die before the last of its slices.
        let states: [ReplayState] = isHolding ? [.ready, .waiting] : [.held]
        var ids = try ReplayTable.ids(of: hold, in: states, after: 0, on: connection)
        if chance(0.3) { ids.removeLast(Int.random(in: 0...ids.count, using: &random)) }
        _ = try ReplayTable.applyHolds(to: ids, in: states, on: connection, ledger: &ledger)
    }

    // MARK: Invariants

    private mutating func violate(_ what: String) { violations.append(what) }

    mutating func check(on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        let rules: [(String, SQL)] = [
            (
                "a line has not the right head",
                """
                SELECT count(*) FROM (
                    SELECT ordering_key AS name,
                        ifnull(max(CASE WHEN state = 2 THEN id END), min(id)) AS should,
                        max(CASE WHEN is_head = 1 THEN id END) AS actual
                    FROM job WHERE ordering_key IS NOT NULL AND (state < 4 OR (is_strict = 1 AND state > 4))
                    GROUP BY ordering_key
                ) WHERE should IS NOT actual
                """
            ),
            (
                "the census is wrong",
                "SELECT count(*) FROM census WHERE count <> (SELECT count(*) FROM job WHERE job.state = census.state)"
            ),
            ("a job runs without an owner", "SELECT count(*) FROM job WHERE (state = 2) <> (owner IS NOT NULL)"),
            (
                "a job is of an owner who is gone",
                "SELECT count(*) FROM job WHERE owner IS NOT NULL AND owner NOT IN (SELECT id FROM owner)"
            ),
            ("a job has no request", "SELECT count(*) FROM job WHERE id NOT IN (SELECT job FROM payload)"),
            ("a job is ready that is held", "SELECT count(*) FROM job WHERE state < 2 AND is_held = 1"),
            (
                "a job may be sent that waits for an id",
                "SELECT count(*) FROM edge JOIN job ON job.id = edge.job WHERE job.state < 3"
            ),
            (
                "a job waits for an id that is known, or has the wrong reason",
                """
                SELECT count(*) FROM edge JOIN job ON job.id = edge.job
                    JOIN job AS creator ON creator.creates = edge.name AND creator.creates <> ''
                WHERE job.state = 3 AND ((creator.state = 4 AND creator.reason = 'finished')
                    OR (job.reason = 'creationFailed') <> (creator.state IN (4, 5)))
                """
            ),
        ]
        for (what, sql) in rules where try connection.integer(sql) != 0 { violate(what) }
        let rows = try connection.integer("SELECT count(*) FROM job")
        if rows != world.known.count { violate("\(world.known.count) jobs were added, \(rows) are there") }
    }
}
