import DiamondSQLite
import Foundation
import Testing

@testable import Diamond

@Suite("The claim of jobs") struct ReplayClaimingTests {
    let fixture: ReplayQueueFixture
    let owner: Int64

    init() throws {
        fixture = try ReplayQueueFixture()
        owner = try fixture.owner()
    }

    private func claimAll() throws -> [Int64] { try fixture.claim(100, by: owner).map(\.id) }

    private func key(_ key: String, _ order: ReplayPolicy.Order = .ordered, priority: Int = 0) -> ReplayPolicy {
        var policy = ReplayPolicy(.durable, orderingKey: key, order: order)
        policy.priority = priority
        return policy
    }

    @Test func `a redriven job has its whole time until expiry again`() throws {
        let fixture = try ReplayQueueFixture()
        let owner = try fixture.owner(lease: .max / 4)
        let policies = [ReplayPolicy(.durable, expiry: .seconds(60)), ReplayPolicy(.durable, expiry: nil)]
        let ids = try policies.map { try fixture.add("POST", $0) }
        fixture.now += 60_000
        #expect(try fixture.claim(9, by: owner).map(\.id) == [ids[1]])
        #expect(try fixture.state(ids[0]) == .dead)
        fixture.now += 8 * 86_400_000
        try fixture.apply(.redrive, to: ids[0])
        fixture.now += 59_999
        #expect(try fixture.claim(9, by: owner).map(\.id) == [ids[0]])
        try fixture.bury(owner)
        fixture.now += 1
        #expect(try fixture.claim(9, by: fixture.owner()).map(\.id) == [ids[1]])
        #expect(try fixture.state(ids[0]) == .dead)
    }

    @Test func `a job whose key has expired while it waited for its permit is not sent`() throws {
        let fixture = try ReplayQueueFixture()
        let (owner, id) = (try fixture.owner(lease: .max / 4), try fixture.add("POST"))
        let first = try #require(try fixture.claim(by: owner).first)
        #expect(try fixture.begin(first, by: owner))
        #expect(try fixture.finish(first, .lost) == .waiting)
        fixture.now += 86_400_000
        let second = try #require(try fixture.claim(by: owner).first)
        fixture.now += 1
        #expect(try !fixture.begin(second, by: owner))
        #expect(try fixture.job(id)?.state == .needsReview && fixture.job(id)?.reason == .keyExpired)
        #expect(try fixture.finish(second, .notBegun) == .needsReview)
    }

    @Test func `a failed job that cannot be decoded waits once, and is dead afterwards`() throws {
        let fixture = try ReplayQueueFixture()
        let (owner, id) = (
            try fixture.owner(lease: .max / 4), try fixture.add("PUT", .with(attempts: 2))
        )
        let unreadable = ReplayOutcome.failed(.undecodable, code: "undecodable", message: "version 9")
        let steps: [(ReplayOutcome, ReplayState)] = [
            (.unsent, .waiting), (unreadable, .waiting), (unreadable, .dead),
        ]
        for (outcome, state) in steps {
            let job = try #require(try fixture.claim(by: owner).first)
            #expect(try fixture.finish(job, outcome) == state)
            fixture.now += 3_600_000
        }
        #expect(try fixture.job(id)?.reason == .undecodable && fixture.job(id)?.attempts == 1)
    }

    @Test(
        arguments: [
            "unknown_at = -9223372036854775808", "unknown_at = 9223372036854775807", "token = 9223372036854775807",
            "attempts = 9223372036854775807", "priority = -9223372036854775808", "run_at = -9223372036854775808",
            "expires_at = 9223372036854775807", "key_lifetime = -9223372036854775808",
            "attempt_limit = -9223372036854775808",
        ], [true, false])
    func `a row that was not written by the queue stops no claim`(damage: String, isSealed: Bool) throws {
        let fixture = try ReplayQueueFixture()
        let owner = try fixture.owner()
        let (damaged, sound) = (try fixture.add(), try fixture.add())
        try fixture.database.write { (connection) throws(SQLiteError) in
            try connection.execute(
                """
                UPDATE job SET \(damage) WHERE id = \(damaged);
                INSERT INTO attempt (job, number, started_at, ended_at, code, message)
                VALUES (\(damaged), 9223372036854775807, 0, 0, 'x', 'x')
                """)
            if isSealed { try ReplayTable.reseal(on: connection) }
        }
        for identities in [ReplaySelection.Identities.all, .only([])] {
            for job in try fixture.claim(9, by: owner, of: identities) {
                #expect(try fixture.finish(job, .unsent) != nil)
            }
        }
        #expect(try fixture.job(sound)?.attempts == 1)
    }

    @Test func `queries for holds and for pages of jobs use the primary keys`() throws {
        let fixture = try ReplayQueueFixture()
        let plans = try [
            "SELECT 1 WHERE EXISTS (SELECT 1 FROM hold WHERE kind = 'key' AND name = 'a')",
            "SELECT id FROM job NOT INDEXED WHERE id > 1 AND state = 4 ORDER BY id LIMIT 9",
            "SELECT id FROM job INDEXED BY job_by_state WHERE id > 1 AND state IN (5) ORDER BY id LIMIT 9",
        ].map { sql in
            try fixture.database.read { (connection) throws(SQLiteError) in
                let statement = try connection.statement(composed: "EXPLAIN QUERY PLAN \(sql)")
                var lines: [String] = []
                while try statement.step() { lines.append(statement.text(3)) }
                return lines.joined(separator: " ")
            }
        }
        #expect(plans[0].contains("SEARCH hold") && plans[1].hasPrefix("SEARCH job"), "\(plans)")
        #expect(!plans[1].contains("TEMP B-TREE") && plans[2].contains("COVERING INDEX job_by_state"))
    }

    @Test(arguments: [0, 20_001])
    func `jobs of a state are listed in the order of their ids, however many the census counts`(count: Int) throws {
        let fixture = try ReplayQueueFixture()
        let ids = try (0..<4).map { _ in try fixture.add("POST") }
        let moment = ReplayMoment(time: fixture.now, lead: 0)
        let listed = try fixture.database.write { (connection) throws(SQLiteError) in
            try connection.execute("UPDATE census SET count = \(count); UPDATE job SET changed_at = -id")
            return try ReplayTable.jobs(
                ReplayFilter(states: [.ready, .dead]), after: ids[0], limit: 2, at: moment, on: connection)
        }
        #expect(listed.map(\.id) == [ids[1], ids[2]])
    }

    @Test func `jobs are claimed in the order in which they were added, the urgent ones first`() throws {
        let first = try fixture.add()
        let second = try fixture.add()
        let urgent = try fixture.add("POST", .with(priority: 1))
        let idle = try fixture.add("POST", .with(priority: -1))
        #expect(try claimAll() == [urgent, first, second, idle])
        #expect(try claimAll().isEmpty)
    }

    @Test func `jobs of one ordering key are sent one at a time, in order`() throws {
        let ids = try (0..<3).map { _ in try fixture.add("POST", key("a")) }
        for id in ids {
            let jobs = try fixture.claim(100, by: owner)
            #expect(jobs.map(\.id) == [id])
            try fixture.finish(jobs[0], .success)
        }
        #expect(try claimAll().isEmpty)
    }

    @Test func `a failed job of an ordering key keeps the later ones waiting`() throws {
        let first = try fixture.add("POST", key("a"))
        let second = try fixture.add("POST", key("a"))
        try fixture.finish(fixture.claim(by: owner)[0], .unsent)
        #expect(try fixture.state(first) == .waiting)
        #expect(try claimAll().isEmpty)
        fixture.now += 3_600_000
        let again = try fixture.claim(100, by: owner)
        #expect(again.map(\.id) == [first])
        try fixture.finish(again[0], .success)
        #expect(try claimAll() == [second])
    }

    @Test(arguments: [ReplayPolicy.Order.ordered, .strict])
    func `a dead job does not delay later jobs, except in strict order until it is discarded`(
        _ order: ReplayPolicy.Order
    ) throws {
        let first = try fixture.add("POST", key("a", order))
        let second = try fixture.add("POST", key("a", order))
        try fixture.finish(fixture.claim(by: owner)[0], .answered(status: 422))
        #expect(try fixture.state(first) == .dead)
        if order == .strict {
            #expect(try claimAll().isEmpty)
            #expect(try fixture.apply(.discard, to: first) == .done(.done))
        }
        #expect(try claimAll() == [second])
    }

    @Test func `a redriven job waits for the running job of its ordering key, and precedes later jobs`() throws {
        let ids = try (0..<3).map { _ in try fixture.add("POST", key("a")) }
        try fixture.finish(fixture.claim(by: owner)[0], .answered(status: 422))
        let second = try fixture.claim(by: owner)[0]
        #expect(try fixture.apply(.redrive, to: ids[0]) == .done(.ready))
        #expect(try claimAll().isEmpty)
        try fixture.finish(second, .success)
        let first = try fixture.claim(100, by: owner)
        #expect(first.map(\.id) == [ids[0]])
        try fixture.finish(first[0], .success)
        #expect(try claimAll() == [ids[2]])
    }

    @Test func `ordering keys take turns, however many jobs one of them has`() throws {
        for _ in 0..<5 { try fixture.add("POST", key("many")) }
        let other = try fixture.add("POST", key("few"))
        let last = try fixture.add()
        var order: [Int64] = []
        for _ in 0..<4 {
            let job = try fixture.claim(by: owner)[0]
            order.append(job.id)
            try fixture.finish(job, .success)
        }
        #expect(order == [1, other, last, 2])
    }

    @Test func `a job is not claimed before its time`() throws {
        let id = try fixture.add(after: 5_000)
        #expect(try fixture.state(id) == .waiting)
        #expect(try claimAll().isEmpty)
        fixture.now += 5_000
        #expect(try claimAll() == [id])
    }

    @Test func `an expired job is dead, or needs review if it may have been sent`() throws {
        var policy = ReplayPolicy.with(attempts: 100)
        policy.expiry = .seconds(60)
        let id = try fixture.add("POST", policy)
        let open = try fixture.add("POST", policy)
        let jobs = try fixture.claim(2, by: owner)
        try fixture.finish(jobs[0], .unsent)
        try fixture.finish(jobs[1], .lost)
        fixture.now += 60_000
        #expect(try claimAll().isEmpty)
        #expect(try fixture.job(id).map { [$0.state.description, $0.reason.description] } == ["dead", "expired"])
        #expect(
            try fixture.job(open).map { [$0.state.description, $0.reason.description] } == ["needsReview", "expired"])
    }

    @Test func `jobs of an identity are claimed only where it is signed in`() throws {
        let nobody = try fixture.add()
        let anna = try fixture.add(identity: "anna")
        let bert = try fixture.add("POST", .with(priority: 1), identity: "bert")
        #expect(try fixture.claim(9, by: owner, of: .only(["anna"])).map(\.id) == [nobody, anna])
        #expect(try fixture.claim(9, by: owner, of: .only([])).isEmpty)
        #expect(try fixture.claim(9, by: owner, of: .only(["bert", "anna"])).map(\.id) == [bert])
    }

    @Test func `jobs of paused lanes keep their places, and do not delay later ones`() throws {
        let owner = try fixture.owner()
        for _ in 0..<20 { try fixture.add(lane: "images") }
        let (anna, other) = (try fixture.add(identity: "anna", lane: "images"), try fixture.add(identity: "anna"))
        let nobody = try fixture.add()
        #expect(try fixture.claim(9, by: owner, in: .none).isEmpty)
        #expect(try fixture.claim(1, by: owner, of: .only(["anna"]), in: .allBut(["images"])).map(\.id) == [other])
        #expect(try fixture.claim(9, by: owner, in: .allBut(["images", "b"])).map(\.id) == [nobody])
        #expect(try fixture.claim(9, by: owner, in: .allBut(["images"])).isEmpty && fixture.state(anna) == .ready)
        #expect(try fixture.claim(99, by: owner, in: .allBut(["b"])).count == 21)
    }

    @Test func `an acknowledgement with an old token is ignored`() throws {
        let id = try fixture.add("PUT")
        let old = try fixture.claim(by: owner)[0]
        #expect(try fixture.begin(old, by: owner))
        try fixture.bury(owner)
        let heir = try fixture.owner()
        let new = try fixture.claim(by: heir)[0]
        #expect(new.id == id)
        #expect(try !fixture.begin(old, by: owner))
        #expect(try fixture.finish(old, .success) == nil)
        #expect(try fixture.state(id) == .running)
        #expect(try fixture.finish(new, .success) == .done)
    }

    @Test func `an owner whose lease has ended begins no job`() throws {
        try fixture.add()
        let job = try fixture.claim(by: owner)[0]
        fixture.uptime += 60_000
        #expect(try !fixture.begin(job, by: owner))
    }

    @Test func `a job claimed by a dead owner is begun by no other owner, even of the same process`()
        throws
    {
        let id = try fixture.add("PUT")
        let job = try fixture.claim(by: owner)[0]
        // The lease of the owner has ended, and its job is not rescued yet.
        fixture.uptime += 60_000
        let next = try fixture.owner()
        #expect(try !fixture.begin(job, by: next))
        #expect(try fixture.finish(job, .unsent) == nil)
        #expect(try fixture.job(id).map { "\($0.state) \($0.attempts)" } == "ready 0")
        let again = try fixture.claim(by: next)[0]
        #expect(again.id == id)
        try fixture.bury(owner)
        #expect(try fixture.begin(again, by: next))
    }

    static let lateHolds: [(hold: ReplayHold, state: ReplayState, reason: ReplayReason)] = [
        (.key("a"), .held, .held), (.identity("anna"), .held, .held), (.lane(.default), .held, .held),
        (.queue, .ready, .returned), (.engine, .ready, .returned),
    ]

    @Test(arguments: lateHolds)
    func `a job held after its claim is not begun, but a job under way continues`(
        _ late: (hold: ReplayHold, state: ReplayState, reason: ReplayReason)
    ) throws {
        let jobs = try (0..<2).map { _ in try fixture.add("PUT", key("a"), identity: "anna") }
        func hold(_ isHeld: Bool) throws {
            try fixture.write { (connection, ledger) throws(SQLiteError) in
                guard isHeld else { return try ReplayTable.remove(late.hold, on: connection, ledger: &ledger) }
                try ReplayTable.add(late.hold, reason: "", on: connection, ledger: ledger)
            }
        }
        let job = try fixture.claim(by: owner)[0]
        try hold(true)
        #expect(try !fixture.begin(job, by: owner))
        let held = try #require(try fixture.job(job.id))
        #expect(held.state == late.state && held.reason == late.reason && held.attempts == 0)
        #expect(held.unknownSince == nil && held.sentAt == nil)
        #expect(try fixture.finish(job, .unsent) == nil)
        try hold(false)
        _ = try fixture.write { (connection, ledger) throws(SQLiteError) in
            try ReplayTable.applyHolds(to: jobs, in: [.held], on: connection, ledger: &ledger)
        }
        let again = try fixture.claim(by: owner)[0]
        #expect(again.id == job.id)
        #expect(try fixture.begin(again, by: owner))
        try hold(true)
        let goesOn = try fixture.write { (connection, ledger) throws(SQLiteError) in
            try ReplayTable.begin(
                again.id, token: again.token, by: owner, ReplayStart(isUnderWay: true), on: connection, ledger: &ledger)
        }
        #expect(goesOn)
    }

    @Test func `a job whose time ended while it waited for its permit is not begun`() throws {
        let id = try fixture.add("PUT", ReplayPolicy(.durable, expiry: .seconds(30)))
        let job = try fixture.claim(by: owner)[0]
        fixture.now += 30_000
        #expect(try !fixture.begin(job, by: owner))
        #expect(try fixture.job(id).map { [$0.state.description, $0.reason.description] } == ["dead", "expired"])
        // The former owner gets the state of the expired job.
        #expect(try fixture.finish(job, .unsent) == .dead)
    }

    @Test func `the death of an owner counts for a job that was sent, and not for a job only claimed`() throws {
        try fixture.add("PUT")
        for deaths in 1...3 {
            let free = try fixture.owner()
            _ = try fixture.claim(by: free)
            try fixture.bury(free)
            let doomed = try fixture.owner()
            let job = try fixture.claim(by: doomed)[0]
            #expect(try fixture.begin(job, by: doomed))
            try fixture.bury(doomed)
            #expect(try fixture.state(job.id) == (deaths < 3 ? .ready : .dead))
        }
        #expect(try fixture.job(1)?.reason == .poison)
        #expect(try fixture.job(1)?.attempts == 0)
    }

    @Test func `a job is not poisoned by old deaths, or by deaths of apps that the system ended`() throws {
        try fixture.add("PUT")
        for round in 0..<8 {
            let doomed = try fixture.owner()
            let job = try #require(try fixture.claim(by: doomed).first)
            #expect(try fixture.begin(job, by: doomed))
            try fixture.bury(doomed, mayBeCause: round % 2 != 0)
            fixture.now += 40 * 3_600_000 * (round % 2 == 0 ? 0 : 1)
        }
        #expect(try fixture.state(1) == .ready)
    }

    @Test(arguments: [
        ("POST", ReplayPolicy.durable.keyLifetime, ReplayState.ready), ("PUT", nil, .ready),
        ("POST", nil, .needsReview),
    ])
    func `a job under way when its process died is sent again if it may be repeated`(
        _ method: String, _ keyLifetime: Duration?, _ state: ReplayState
    ) throws {
        let id = try fixture.add(method, ReplayPolicy(.durable, keyLifetime: keyLifetime))
        let job = try fixture.claim(by: owner)[0]
        #expect(try (fixture.job(id)?.idempotencyKey != nil) == (method == "POST" && keyLifetime != nil))
        #expect(try fixture.begin(job, by: owner))
        try fixture.bury(owner)
        #expect(try fixture.state(id) == state)
    }

    @Test func `a key that the server may have forgotten is not trusted`() throws {
        let id = try fixture.add("POST", ReplayPolicy(.durable, expiry: nil))
        try fixture.finish(fixture.claim(by: owner)[0], .lost)
        fixture.now += 86_400_001
        #expect(try claimAll().isEmpty)
        #expect(try fixture.job(id)?.reason == .keyExpired)
        // A job that was certainly not processed stays unprocessed, however old.
        let unsent = try fixture.add("POST", ReplayPolicy(.durable, expiry: nil))
        try fixture.finish(fixture.claim(by: owner)[0], .unsent)
        fixture.now += 10 * 86_400_000
        fixture.uptime += 0
        #expect(try claimAll() == [unsent])
    }

    @Test func `a claim reads only the jobs that it claims, however many there are`() throws {
        let plans: [(String, SQL)] = [
            (
                "job_by_turn",
                "EXPLAIN QUERY PLAN SELECT id, lane FROM job INDEXED BY job_by_turn WHERE state = 0 AND is_head = 1 ORDER BY priority DESC, turn, id"
            ),
            (
                "job_in_line",
                "EXPLAIN QUERY PLAN SELECT id FROM job WHERE ordering_key = 'a' AND ordering_key IS NOT NULL AND (state < 4 OR (is_strict = 1 AND state > 4)) ORDER BY id LIMIT 1"
            ),
            ("job_head", "EXPLAIN QUERY PLAN SELECT id FROM job WHERE ordering_key = 'a' AND is_head = 1"),
            ("job_running", "EXPLAIN QUERY PLAN SELECT id FROM job WHERE ordering_key = 'a' AND state = 2"),
        ]
        for (index, sql) in plans {
            let plan = try fixture.database.read { (connection) throws(SQLiteError) in
                let statement = try connection.statement(sql)
                var lines: [String] = []
                while try statement.step() { lines.append(statement.text(3)) }
                return lines.joined(separator: "; ")
            }
            #expect(plan.contains(index) && !plan.contains("TEMP B-TREE"), "\(plan)")
        }
    }

    @Test func `every transition is reported with both states, and counted`() throws {
        let id = try fixture.add("PUT")
        try fixture.finish(fixture.claim(by: owner)[0], .unsent)
        fixture.now += 3_600_000
        try fixture.finish(fixture.claim(by: owner)[0], .success)
        #expect(
            fixture.transitions.map(\.description) == [
                "job \(id): enqueue, new to ready (enqueued)", "job \(id): claim, ready to running (claimed)",
                "job \(id): fail, running to waiting (backoff)", "job \(id): retry, waiting to ready (due)",
                "job \(id): claim, ready to running (claimed)", "job \(id): finish, running to done (finished)",
            ])
        let counts = try fixture.database.read { (connection) throws(SQLiteError) in
            try ReplayTable.hours(since: 0, on: connection).reduce(into: [:]) { $0[$1.verb, default: 0] += $1.count }
        }
        #expect(counts == ["enqueue": 1, "claim": 2, "fail": 1, "retry": 1, "finish": 1])
    }

    @Test func `the lifetime of a key never begins in the future, whatever the wall clock said`() throws {
        let fixture = try ReplayQueueFixture()
        var draft = try fixture.draft("POST")
        draft.history.unknownSince = fixture.now + 86_400_000
        let (owner, id) = (try fixture.owner(lease: .max / 4), try #require(try fixture.add(draft).id))
        #expect(try fixture.job(id)?.unknownSince == fixture.now.correctWall.date)
        fixture.now += 86_400_001
        #expect(try fixture.claim(by: owner).isEmpty)
        #expect(try fixture.job(id)?.reason == .keyExpired)
    }

    @Test func `the time of an interruption is never in the future, whatever the wall clock said`() throws {
        let id = try fixture.add("POST")
        let job = try #require(try fixture.claim(by: owner).first)
        for isPaused in [false, true] {
            let earlier = ReplayRow.EarlierExchange(
                sentAt: fixture.now + 86_400_000, isHarmless: true, isPaused: isPaused)
            let hasBegun = try fixture.write { (connection, ledger) throws(SQLiteError) in
                try ReplayTable.begin(
                    job.id, token: job.token, by: owner, ReplayStart(after: earlier), on: connection, ledger: &ledger)
            }
            let row = try #require(try fixture.job(id))
            #expect(hasBegun && row.sentAt == fixture.now.correctWall.date && row.unknownSince == row.sentAt)
        }
    }
}
