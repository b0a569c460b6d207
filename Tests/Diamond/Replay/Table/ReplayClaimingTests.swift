import DiamondSQLite
import Foundation
import Testing

@testable import Diamond

@Suite struct ReplayClaimingTests {
    let desk: ReplayDesk
    let owner: Int64

    init() throws {
        desk = try ReplayDesk()
        owner = try desk.owner()
    }

    private func claimAll() throws -> [Int64] { try desk.claim(100, by: owner).map(\.id) }

    private func key(_ key: String, _ order: ReplayPolicy.Order = .ordered, priority: Int = 0) -> ReplayPolicy {
        ReplayPolicy(.durable, orderingKey: key, order: order, priority: priority)
    }

    @Test func `a job that is sent anew has all its time before it`() throws {
        let desk = try ReplayDesk()
        let owner = try desk.owner(lease: .max / 4)
        let policies = [ReplayPolicy(.durable, expiry: .seconds(60)), ReplayPolicy(.durable, expiry: nil)]
        let ids = try policies.map { try desk.add("POST", $0) }
        desk.now += 60_000
        #expect(try desk.claim(9, by: owner).map(\.id) == [ids[1]])
        #expect(try desk.state(ids[0]) == .dead)
        desk.now += 8 * 86_400_000
        try desk.apply(.redrive, to: ids[0])
        desk.now += 59_999
        #expect(try desk.claim(9, by: owner).map(\.id) == [ids[0]])
        try desk.bury(owner)
        desk.now += 1
        #expect(try desk.claim(9, by: desk.owner()).map(\.id) == [ids[1]])
        #expect(try desk.state(ids[0]) == .dead)
    }

    @Test func `a job whose key has expired while it waited for its place is not sent`() throws {
        let desk = try ReplayDesk()
        let (owner, id) = (try desk.owner(lease: .max / 4), try desk.add("POST"))
        let first = try #require(try desk.claim(by: owner).first)
        #expect(try desk.begin(first, by: owner))
        #expect(try desk.finish(first, .lost) == .waiting)
        desk.now += 86_400_000
        let second = try #require(try desk.claim(by: owner).first)
        desk.now += 1
        #expect(try !desk.begin(second, by: owner))
        #expect(try desk.job(id)?.state == .needsReview && desk.job(id)?.reason == .keyExpired)
        #expect(try desk.finish(second, .notBegun) == .needsReview)
    }

    @Test func `a job that has failed waits once where nobody can read it, and is dead then`() throws {
        let desk = try ReplayDesk()
        let (owner, id) = (try desk.owner(lease: .max / 4), try desk.add("PUT", ReplayPolicy(.durable, attempts: 2)))
        let unreadable = ReplayOutcome.failed(.undecodable, code: "undecodable", message: "version 9")
        let steps: [(ReplayOutcome, ReplayState)] = [
            (.unsent, .waiting), (unreadable, .waiting), (unreadable, .dead),
        ]
        for (outcome, state) in steps {
            let job = try #require(try desk.claim(by: owner).first)
            #expect(try desk.finish(job, outcome) == state)
            desk.now += 3_600_000
        }
        #expect(try desk.job(id)?.reason == .undecodable && desk.job(id)?.attempts == 1)
    }

    @Test(
        arguments: [
            "unknown_at = -9223372036854775808", "unknown_at = 9223372036854775807", "token = 9223372036854775807",
            "attempts = 9223372036854775807", "priority = -9223372036854775808", "run_at = -9223372036854775808",
            "expires_at = 9223372036854775807", "key_lifetime = -9223372036854775808",
            "attempt_limit = -9223372036854775808",
        ], [true, false])
    func `a row that says what nobody has written stops no claim`(damage: String, isSealed: Bool) throws {
        let desk = try ReplayDesk()
        let owner = try desk.owner()
        let (damaged, sound) = (try desk.add(), try desk.add())
        try desk.database.write { (connection) throws(SQLiteError) in
            try connection.execute(
                """
                UPDATE job SET \(damage) WHERE id = \(damaged);
                INSERT INTO attempt (job, number, started_at, ended_at, code, message)
                VALUES (\(damaged), 9223372036854775807, 0, 0, 'x', 'x')
                """)
            if isSealed { try ReplayTable.reseal(on: connection) }
        }
        for identities in [ReplayTable.Identities.all, .only([])] {
            for job in try desk.claim(9, by: owner, of: identities) {
                #expect(try desk.finish(job, .unsent) != nil)
            }
        }
        #expect(try desk.job(sound)?.attempts == 1)
    }

    @Test func `looks for holds and pages by their own keys`() throws {
        let desk = try ReplayDesk()
        let plans = try [
            "SELECT 1 WHERE EXISTS (SELECT 1 FROM hold WHERE kind = 'key' AND name = 'a')",
            "SELECT id FROM job NOT INDEXED WHERE id > 1 AND state = 4 ORDER BY id LIMIT 9",
        ].map { sql in
            try desk.database.read { (connection) throws(SQLiteError) in
                let statement = try connection.statement(composed: "EXPLAIN QUERY PLAN \(sql)")
                var lines: [String] = []
                while try statement.step() { lines.append(statement.text(3)) }
                return lines.joined(separator: " ")
            }
        }
        #expect(plans[0].contains("SEARCH hold") && plans[1].hasPrefix("SEARCH job"), "\(plans)")
        #expect(!plans[1].contains("TEMP B-TREE"))
    }

    @Test func `jobs are claimed in the order in which they were added, the urgent ones first`() throws {
        let first = try desk.add()
        let second = try desk.add()
        let urgent = try desk.add("POST", ReplayPolicy(.durable, priority: 1))
        let idle = try desk.add("POST", ReplayPolicy(.durable, priority: -1))
        #expect(try claimAll() == [urgent, first, second, idle])
        #expect(try claimAll().isEmpty)
    }

    @Test func `of an ordering key one job is sent at a time, in order`() throws {
        let ids = try (0..<3).map { _ in try desk.add("POST", key("a")) }
        for id in ids {
            let jobs = try desk.claim(100, by: owner)
            #expect(jobs.map(\.id) == [id])
            try desk.finish(jobs[0], .success)
        }
        #expect(try claimAll().isEmpty)
    }

    @Test func `a failed job of an ordering key keeps those behind it waiting`() throws {
        let first = try desk.add("POST", key("a"))
        let second = try desk.add("POST", key("a"))
        try desk.finish(desk.claim(by: owner)[0], .unsent)
        #expect(try desk.state(first) == .waiting)
        #expect(try claimAll().isEmpty)
        desk.now += 3_600_000
        let again = try desk.claim(100, by: owner)
        #expect(again.map(\.id) == [first])
        try desk.finish(again[0], .success)
        #expect(try claimAll() == [second])
    }

    @Test(arguments: [ReplayPolicy.Order.ordered, .strict])
    func `a dead job is passed by those behind it, but in strict order blocks them until it is discarded`(
        _ order: ReplayPolicy.Order
    ) throws {
        let first = try desk.add("POST", key("a", order))
        let second = try desk.add("POST", key("a", order))
        try desk.finish(desk.claim(by: owner)[0], .answered(status: 422))
        #expect(try desk.state(first) == .dead)
        if order == .strict {
            #expect(try claimAll().isEmpty)
            #expect(try desk.apply(.discard, to: first) == .done(.done))
        }
        #expect(try claimAll() == [second])
    }

    @Test func `a redriven job waits for the one of its key that runs, and is sent before those behind`() throws {
        let ids = try (0..<3).map { _ in try desk.add("POST", key("a")) }
        try desk.finish(desk.claim(by: owner)[0], .answered(status: 422))
        let second = try desk.claim(by: owner)[0]
        #expect(try desk.apply(.redrive, to: ids[0]) == .done(.ready))
        #expect(try claimAll().isEmpty)
        try desk.finish(second, .success)
        let first = try desk.claim(100, by: owner)
        #expect(first.map(\.id) == [ids[0]])
        try desk.finish(first[0], .success)
        #expect(try claimAll() == [ids[2]])
    }

    @Test func `keys take turns, however many jobs one of them has`() throws {
        for _ in 0..<5 { try desk.add("POST", key("many")) }
        let other = try desk.add("POST", key("few"))
        let last = try desk.add()
        var order: [Int64] = []
        for _ in 0..<4 {
            let job = try desk.claim(by: owner)[0]
            order.append(job.id)
            try desk.finish(job, .success)
        }
        #expect(order == [1, other, last, 2])
    }

    @Test func `a job is not claimed before its time`() throws {
        let id = try desk.add(after: 5_000)
        #expect(try desk.state(id) == .waiting)
        #expect(try claimAll().isEmpty)
        desk.now += 5_000
        #expect(try claimAll() == [id])
    }

    @Test func `a job that is not sent in time is dead, and one that may have been sent needs review`() throws {
        let policy = ReplayPolicy(.durable, attempts: 100, expiry: .seconds(60))
        let id = try desk.add("POST", policy)
        let open = try desk.add("POST", policy)
        let jobs = try desk.claim(2, by: owner)
        try desk.finish(jobs[0], .unsent)
        try desk.finish(jobs[1], .lost)
        desk.now += 60_000
        #expect(try claimAll().isEmpty)
        #expect(try desk.job(id).map { [$0.state.description, $0.reason.description] } == ["dead", "expired"])
        #expect(
            try desk.job(open).map { [$0.state.description, $0.reason.description] } == ["needsReview", "expired"])
    }

    @Test func `jobs of an identity are claimed only where it is signed in`() throws {
        let nobody = try desk.add()
        let anna = try desk.add(identity: "anna")
        let bert = try desk.add("POST", ReplayPolicy(.durable, priority: 1), identity: "bert")
        #expect(try desk.claim(9, by: owner, of: .only(["anna"])).map(\.id) == [nobody, anna])
        #expect(try desk.claim(9, by: owner, of: .only([])).isEmpty)
        #expect(try desk.claim(9, by: owner, of: .only(["bert", "anna"])).map(\.id) == [bert])
    }

    @Test func `jobs of lanes that are paused stay where they are, and keep none from those behind them`() throws {
        let owner = try desk.owner()
        for _ in 0..<20 { try desk.add(lane: "images") }
        let (anna, other) = (try desk.add(identity: "anna", lane: "images"), try desk.add(identity: "anna"))
        let nobody = try desk.add()
        #expect(try desk.claim(9, by: owner, in: .none).isEmpty)
        #expect(try desk.claim(1, by: owner, of: .only(["anna"]), in: .allBut(["images"])).map(\.id) == [other])
        #expect(try desk.claim(9, by: owner, in: .allBut(["images", "b"])).map(\.id) == [nobody])
        #expect(try desk.claim(9, by: owner, in: .allBut(["images"])).isEmpty && desk.state(anna) == .ready)
        #expect(try desk.claim(99, by: owner, in: .allBut(["b"])).count == 21)
    }

    @Test func `an acknowledgement with an old token counts for nothing`() throws {
        let id = try desk.add("PUT")
        let old = try desk.claim(by: owner)[0]
        #expect(try desk.begin(old, by: owner))
        try desk.bury(owner)
        let heir = try desk.owner()
        let new = try desk.claim(by: heir)[0]
        #expect(new.id == id)
        #expect(try !desk.begin(old, by: owner))
        #expect(try desk.finish(old, .success) == nil)
        #expect(try desk.state(id) == .running)
        #expect(try desk.finish(new, .success) == .done)
    }

    @Test func `an owner whose lease has ended begins nothing`() throws {
        try desk.add()
        let job = try desk.claim(by: owner)[0]
        desk.uptime += 60_000
        #expect(try !desk.begin(job, by: owner))
    }

    @Test func `what an owner has claimed that is dead by now is begun by no other, and so not by its process's next`()
        throws
    {
        let id = try desk.add("PUT")
        let job = try desk.claim(by: owner)[0]
        // It was away, and nobody has rescued the job yet.
        desk.uptime += 60_000
        let next = try desk.owner()
        #expect(try !desk.begin(job, by: next))
        #expect(try desk.finish(job, .unsent) == nil)
        #expect(try desk.job(id).map { "\($0.state) \($0.attempts)" } == "ready 0")
        let again = try desk.claim(by: next)[0]
        #expect(again.id == id)
        try desk.bury(owner)
        #expect(try desk.begin(again, by: next))
    }

    static let lateHolds: [(hold: ReplayHold, state: ReplayState, reason: ReplayReason)] = [
        (.key("a"), .held, .held), (.identity("anna"), .held, .held), (.lane(.default), .held, .held),
        (.queue, .ready, .returned), (.engine, .ready, .returned),
    ]

    @Test(arguments: lateHolds)
    func `what is held when it has been claimed does not leave, but goes on with what has left`(
        _ late: (hold: ReplayHold, state: ReplayState, reason: ReplayReason)
    ) throws {
        let jobs = try (0..<2).map { _ in try desk.add("PUT", key("a"), identity: "anna") }
        func hold(_ isHeld: Bool) throws {
            try desk.write { (connection, ledger) throws(SQLiteError) in
                guard isHeld else { return try ReplayTable.remove(late.hold, on: connection, &ledger) }
                try ReplayTable.add(late.hold, reason: "", on: connection, ledger)
            }
        }
        let job = try desk.claim(by: owner)[0]
        try hold(true)
        #expect(try !desk.begin(job, by: owner))
        let held = try #require(try desk.job(job.id))
        #expect(held.state == late.state && held.reason == late.reason && held.attempts == 0)
        #expect(held.unknownSince == nil && held.sentAt == nil)
        #expect(try desk.finish(job, .unsent) == nil)
        try hold(false)
        _ = try desk.write { (connection, ledger) throws(SQLiteError) in
            try ReplayTable.release(jobs, on: connection, &ledger)
        }
        let again = try desk.claim(by: owner)[0]
        #expect(again.id == job.id)
        #expect(try desk.begin(again, by: owner))
        try hold(true)
        let goesOn = try desk.write { (connection, ledger) throws(SQLiteError) in
            try ReplayTable.begin(again.id, token: again.token, by: owner, isUnderWay: true, on: connection, &ledger)
        }
        #expect(goesOn)
    }

    @Test func `what has waited for its place until its time was over does not leave`() throws {
        let id = try desk.add("PUT", ReplayPolicy(.durable, expiry: .seconds(30)))
        let job = try desk.claim(by: owner)[0]
        desk.now += 30_000
        #expect(try !desk.begin(job, by: owner))
        #expect(try desk.job(id).map { [$0.state.description, $0.reason.description] } == ["dead", "expired"])
        // Whoever has had it is told so.
        #expect(try desk.finish(job, .unsent) == .dead)
    }

    @Test func `what was claimed and not sent comes back free, what was sent counts as a death`() throws {
        try desk.add("PUT")
        for deaths in 1...3 {
            let free = try desk.owner()
            _ = try desk.claim(by: free)
            try desk.bury(free)
            let doomed = try desk.owner()
            let job = try desk.claim(by: doomed)[0]
            #expect(try desk.begin(job, by: doomed))
            try desk.bury(doomed)
            #expect(try desk.state(job.id) == (deaths < 3 ? .ready : .dead))
        }
        #expect(try desk.job(1)?.reason == .poison)
        #expect(try desk.job(1)?.attempts == 0)
    }

    @Test func `deaths of long ago, and of an app that the system ended, poison nothing`() throws {
        try desk.add("PUT")
        for round in 0..<8 {
            let doomed = try desk.owner()
            let job = try #require(try desk.claim(by: doomed).first)
            #expect(try desk.begin(job, by: doomed))
            try desk.bury(doomed, isInnocent: round % 2 == 0)
            desk.now += 40 * 3_600_000 * (round % 2 == 0 ? 0 : 1)
        }
        #expect(try desk.state(1) == .ready)
    }

    @Test(arguments: [
        ("POST", ReplayPolicy.defaultKeyLifetime as Duration?, ReplayState.ready), ("PUT", nil, .ready),
        ("POST", nil, .needsReview),
    ])
    func `what was sent when its process died is sent again where that does no harm`(
        _ method: String, _ keyLifetime: Duration?, _ state: ReplayState
    ) throws {
        let id = try desk.add(method, ReplayPolicy(.durable, keyLifetime: keyLifetime))
        let job = try desk.claim(by: owner)[0]
        #expect(try (desk.job(id)?.idempotencyKey != nil) == (method == "POST" && keyLifetime != nil))
        #expect(try desk.begin(job, by: owner))
        try desk.bury(owner)
        #expect(try desk.state(id) == state)
    }

    @Test func `a key that the server may have forgotten is not trusted`() throws {
        let id = try desk.add("POST", ReplayPolicy(.durable, expiry: nil))
        try desk.finish(desk.claim(by: owner)[0], .lost)
        desk.now += 86_400_001
        #expect(try claimAll().isEmpty)
        #expect(try desk.job(id)?.reason == .keyExpired)
        // What surely was not processed stays innocent however old.
        let unsent = try desk.add("POST", ReplayPolicy(.durable, expiry: nil))
        try desk.finish(desk.claim(by: owner)[0], .unsent)
        desk.now += 10 * 86_400_000
        desk.uptime += 0
        #expect(try claimAll() == [unsent])
    }

    @Test func `a claim reads what it takes, however many jobs there are`() throws {
        let plans: [(String, StaticString)] = [
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
            let plan = try desk.database.read { (connection) throws(SQLiteError) in
                let statement = try connection.statement(sql)
                var lines: [String] = []
                while try statement.step() { lines.append(statement.text(3)) }
                return lines.joined(separator: "; ")
            }
            #expect(plan.contains(index) && !plan.contains("TEMP B-TREE"), "\(plan)")
        }
    }

    @Test func `every transition is told with both states, and counted`() throws {
        let id = try desk.add("PUT")
        try desk.finish(desk.claim(by: owner)[0], .unsent)
        desk.now += 3_600_000
        try desk.finish(desk.claim(by: owner)[0], .success)
        #expect(
            desk.transitions.map(\.description) == [
                "job \(id): enqueue, new to ready (enqueued)", "job \(id): claim, ready to running (claimed)",
                "job \(id): fail, running to waiting (backoff)", "job \(id): retry, waiting to ready (due)",
                "job \(id): claim, ready to running (claimed)", "job \(id): finish, running to done (finished)",
            ])
        let counts = try desk.database.read { (connection) throws(SQLiteError) in
            try ReplayTable.hours(since: 0, on: connection).reduce(into: [:]) { $0[$1.verb, default: 0] += $1.count }
        }
        #expect(counts == ["enqueue": 1, "claim": 2, "fail": 1, "retry": 1, "finish": 1])
    }

    @Test func `a key's lifetime begins now at the latest, whatever a wall clock has said`() throws {
        let desk = try ReplayDesk()
        var draft = try desk.draft("POST")
        draft.history.unknownAt = desk.now + 86_400_000
        let (owner, id) = (try desk.owner(lease: .max / 4), try #require(try desk.add(draft).id))
        #expect(try desk.job(id)?.unknownSince == Date(milliseconds: desk.now))
        desk.now += 86_400_001
        #expect(try desk.claim(by: owner).isEmpty)
        #expect(try desk.job(id)?.reason == .keyExpired)
    }

    @Test func `what was cut off began now at the latest, whatever a wall clock has said`() throws {
        let id = try desk.add("POST")
        let job = try #require(try desk.claim(by: owner).first)
        for isPaused in [false, true] {
            let cutOff = ReplayRow.CutOff(sentAt: desk.now + 86_400_000, isHarmless: true, isPaused: isPaused)
            let hasBegun = try desk.write { (connection, ledger) throws(SQLiteError) in
                try ReplayTable.begin(job.id, token: job.token, by: owner, cutOff: cutOff, on: connection, &ledger)
            }
            let row = try #require(try desk.job(id))
            #expect(hasBegun && row.sentAt == Date(milliseconds: desk.now) && row.unknownSince == row.sentAt)
        }
    }
}
