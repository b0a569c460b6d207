import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond
@testable import DiamondInspection

@Suite("Jobs whose bytes on disk are damaged") struct ReplayDamageTests {
    let fixture: ReplayQueueFixture
    let owner: Int64

    init() throws {
        fixture = try ReplayQueueFixture()
        owner = try fixture.owner()
    }

    private func damage(_ sql: String) throws {
        try fixture.database.write { (connection) throws(SQLiteError) in try connection.execute(sql) }
    }

    private func request(of id: Int64) throws -> Data {
        try fixture.database.read { (connection) throws(SQLiteError) in
            try ReplayTable.storedRequest(of: id, on: connection)
        }
    }

    private func isInReview(_ id: Int64) throws -> Bool {
        let job = try fixture.job(id)
        return job?.state == .needsReview && job?.reason == .damaged && job?.sentAt == nil
    }

    /// The columns that decide what is sent, for which identity, and whether it may be sent.
    static let columns = [
        "reason = 'due'", "identity = 'eve'", "identity = NULL", "ordering_key = 'other'", "ordering_key = NULL",
        "is_strict = 1", "is_held = 1", "run_at = run_at - 1", "expires_at = expires_at + 1", "attempts = 1",
        "attempt_limit = 7", "token = token + 1", "sent_at = 5", "unknown_at = 5", "may_have_acted = 1",
        "key_lifetime = key_lifetime + 1", "key_lifetime = NULL", "is_idempotent = 1", "unique_key = x'00'",
        "unique_key = NULL", "method = 'DELETE'", "lane = 'other'", "digest = digest + 1", "checksum = checksum + 1",
    ]

    private func add(_ unique: String = "name") throws -> Int64 {
        try fixture.add("POST", ReplayPolicy(.durable, orderingKey: "key", unique: unique), identity: "anna")
    }

    @Test(arguments: columns) func `a job whose row is damaged is not claimed, and is for review`(column: String) throws
    {
        let id = try add()
        let written = try request(of: id)
        try damage("UPDATE job SET \(column)")
        #expect(try fixture.claim(9, by: owner).isEmpty)
        #expect(try isInReview(id))
        #expect(try request(of: id) == written)
        #expect(try fixture.job(id)?.state == .needsReview)
    }

    @Test(arguments: [
        "UPDATE payload SET request = CAST(replace(CAST(request AS TEXT), 'notes', 'votes') AS BLOB) WHERE job = 1",
        "UPDATE payload SET request = (SELECT request FROM payload WHERE job = 2) WHERE job = 1",
        "UPDATE payload SET request = x'' WHERE job = 1", "DELETE FROM payload WHERE job = 1",
    ]) func `a job whose request is damaged is not claimed, and is for review`(sql: String) throws {
        let (id, other) = (try fixture.add(), try fixture.add())
        try damage(sql)
        #expect(try fixture.claim(9, by: owner).map(\.id) == [other])
        #expect(try isInReview(id))
        #expect(try fixture.apply(.redrive, to: id) == .damaged)
        #expect(try fixture.apply(.discard, to: id) == .done(.done))
    }

    @Test func `a job in the row of another job is not claimed`() throws {
        let (first, second) = (try fixture.add(), try fixture.add())
        try damage(
            """
            PRAGMA defer_foreign_keys = 1;
            UPDATE job SET id = 9 WHERE id = \(first); UPDATE payload SET job = 9 WHERE job = \(first)
            """)
        #expect(try fixture.claim(9, by: owner).map(\.id) == [second])
        #expect(try isInReview(9))
    }

    @Test func `a damaged job is not redriven, and stays damaged until it is discarded`() throws {
        let id = try add()
        try damage("UPDATE job SET method = 'DELETE'")
        #expect(try fixture.apply(.redrive, to: id) == .damaged)
        #expect(try isInReview(id))
        for action in [ReplayAction.redrive, .retry, .hold, .release] {
            #expect(try fixture.apply(action, to: id) == .damaged)
        }
        #expect(try fixture.apply(.discard, to: id) == .done(.done))
        #expect(try fixture.apply(.discard, to: id) == .wrongState(.done))
        #expect(try fixture.claim(9, by: owner).isEmpty)
    }

    @Test func `a damaged job does not delay later jobs`() throws {
        let (first, second) = (try add("a"), try add("b"))
        try damage("UPDATE job SET method = 'DELETE' WHERE id = \(first)")
        #expect(try fixture.claim(9, by: owner).map(\.id) == [second])
        #expect(try isInReview(first))
    }

    @Test func `a job damaged while it is claimed is not begun, and its outcome does not change its row`() throws {
        let id = try add()
        let job = try #require(try fixture.claim(by: owner).first)
        try damage("UPDATE job SET is_idempotent = 1")
        #expect(try !fixture.begin(job, by: owner))
        #expect(try isInReview(id))
        #expect(try fixture.finish(job, .success) == .needsReview)
        #expect(try isInReview(id))
    }

    @Test func `a job damaged while it is sent is for review when its owner has died`() throws {
        let id = try add()
        let job = try #require(try fixture.claim(by: owner).first)
        #expect(try fixture.begin(job, by: owner))
        try damage("UPDATE job SET sent_at = NULL")
        try fixture.bury(owner)
        #expect(try isInReview(id))
    }

    @Test(arguments: ["run_at = 5", "expires_at = 5"]) func `a damaged job ignores its times`(column: String) throws {
        let id = try fixture.add(after: 60_000)
        try damage("UPDATE job SET \(column)")
        #expect(try fixture.claim(9, by: owner).isEmpty)
        #expect(try isInReview(id))
    }

    @Test func `a damaged job is not released by the end of a hold`() throws {
        let id = try add()
        try fixture.apply(.hold, to: id)
        try damage("UPDATE job SET is_held = 0")
        let count = try fixture.write { (connection, ledger) throws(SQLiteError) in
            try ReplayTable.applyHolds(to: [id], in: [.held], on: connection, ledger: &ledger)
        }
        #expect(count == 0)
        #expect(try isInReview(id))
    }

    @Test(arguments: [ReplayPolicy.Uniqueness.keep, .replace, .merge, .preserveSchedule])
    func `a job is added though a damaged one has its unique name`(_ uniqueness: ReplayPolicy.Uniqueness) throws {
        let policy = ReplayPolicy(.durable, unique: "name", uniqueness: uniqueness)
        let id = try fixture.add("PUT", policy)
        try damage("UPDATE payload SET request = x'00'; UPDATE job SET lane = 'other'")
        let addition = try fixture.add(try fixture.draft("PUT", policy))
        #expect(addition.id != nil && addition.id != id)
        #expect(try isInReview(id))
    }

    @Test func `a job that is done only according to its damaged row is not deleted`() throws {
        let (lost, done) = (try fixture.add(), try fixture.add())
        for job in try fixture.claim(9, by: owner) where job.id == done { try fixture.finish(job, .success) }
        try damage("UPDATE job SET state = 4 WHERE id = \(lost)")
        fixture.now += 10 * 86_400_000
        _ = try fixture.write { (connection, ledger) throws(SQLiteError) in
            try ReplayTable.deleteEnded(beyond: ReplayRetention(), on: connection, ledger: &ledger)
        }
        #expect(try fixture.job(done) == nil)
        #expect(try isInReview(lost))
    }

    @Test(arguments: columns) func `a job whose row is damaged is found by every reader`(column: String) throws {
        let (id, sound) = (try add(), try fixture.add())
        try damage("UPDATE job SET \(column) WHERE id = \(id)")
        let inspection = try #require(try ReplayInspection(of: fixture.files.store))
        #expect(inspection.jobs == 2 && inspection.findings.map(\.id) == [id], "\(sound)")
        #expect(ReplayDiagnosis(of: fixture.files.store)?.damagedJobs == [id])
    }
}
