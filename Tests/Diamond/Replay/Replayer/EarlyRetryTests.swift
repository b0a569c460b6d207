import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("Jobs that are sent before the end of their backoff", .limit(minutes: 5)) struct EarlyRetryTests {
    // MARK: The rule

    private static let codes = ["cannotConnect", "connectionLost", "timedOut", "status 503", "noCredential"]
    private static let origin = "http://api.test"

    private struct Case: Sendable, CustomTestStringConvertible {
        var retry: ReplayEarlyRetry
        var codes: [String]
        var attempts: Int
        var reason: ReplayReason
        /// The time for which jobs have waited, in milliseconds.
        var age: Int64 = 60_000
        var testDescription: String { "\(retry) after \(age) ms" }
    }

    private static let cases = [
        Case(retry: .networkReturned, codes: ["cannotConnect"], attempts: 11, reason: .online),
        Case(retry: .networkReturned, codes: [], attempts: 12, reason: .online, age: 59_999),
        Case(
            retry: .originsAnswered([origin]), codes: ["cannotConnect", "connectionLost", "timedOut"], attempts: 12,
            reason: .online),
        Case(retry: .originsAnswered([origin]), codes: [], attempts: 12, reason: .online, age: 59_999),
        Case(
            retry: .originsAnswered(["https://api.test", "http://other.test"]), codes: [], attempts: 12, reason: .online
        ),
        Case(retry: .requested, codes: codes, attempts: 12, reason: .retried, age: 0),
    ]

    /// Adds a job of each code, whose 12th attempt has just failed so that it waits for half an hour.
    private func add(to queue: ReplayQueueFixture) throws -> [Int64: String] {
        var codes: [Int64: String] = [:]
        for code in Self.codes {
            let id = try queue.add("PUT")
            codes[id] = code
            try queue.write { (connection, _) throws(SQLiteError) in
                try connection.execute("UPDATE job SET attempts = 11 WHERE id = \(id)")
                try ReplayTable.reseal(on: connection)
            }
            let owner = try queue.owner()
            let job = try #require(try queue.claim(by: owner).first)
            _ = try queue.begin(job, by: owner)
            try queue.finish(
                job,
                code.hasPrefix("status")
                    ? .answered(status: 503, isTransient: true) : .failed(.unsent, code: code, message: ""))
        }
        return codes
    }

    private func retry(_ retry: ReplayEarlyRetry, _ queue: ReplayQueueFixture) throws {
        try queue.write { (connection, ledger) throws(SQLiteError) in
            _ = try ReplayTable.retryEarly(retry, since: ledger.now, on: connection, ledger: &ledger)
        }
    }

    @Test(arguments: cases) private func `a job is sent early if its last failure allows it`(_ example: Case) throws {
        let queue = try ReplayQueueFixture()
        let codes = try add(to: queue)
        queue.now += example.age
        try retry(example.retry, queue)
        let ready = try codes.keys.sorted().compactMap { try queue.job($0) }.filter { $0.state == .ready }
        #expect(ready.compactMap { codes[$0.id] } == example.codes)
        #expect(ready.allSatisfy { $0.attempts == example.attempts && $0.reason == example.reason })
        for job in ready {
            let isIntact = try queue.database.read { (connection) throws(SQLiteError) in
                try ReplayTable.storedRow(job.id, on: connection)?.isIntact
            }
            #expect(isIntact == true)
        }
    }

    @Test func `the codes of early retries are those of connection errors`() {
        let codes: [ConnectionError.Code] = [.cannotConnect, .connectionLost, .timedOut]
        #expect(ReplayEarlyRetry.originsAnswered([]).codes == Set(codes.map(\.description)))
        #expect(ReplayEarlyRetry.networkReturned.codes == [ConnectionError.Code.cannotConnect.description])
    }

    @Test func `a job that waits for a time that its server or its app has set is not sent early`() throws {
        let queue = try ReplayQueueFixture()
        try queue.add(after: 3_600_000)
        let id = try queue.add()
        let owner = try queue.owner()
        let job = try #require(try queue.claim(by: owner).first)
        try queue.finish(job, .answered(status: 503, isTransient: true, pushBack: .seconds(3600)))
        queue.now += 60_000
        for reason in [.networkReturned, .originsAnswered([Self.origin]), ReplayEarlyRetry.requested] {
            try retry(reason, queue)
        }
        #expect(try [1, id].map { try queue.state($0) } == [.waiting, .waiting])
    }

    @Test func `the origins that have answered are handled at most once in five seconds`() {
        let answers = OriginAnswers()
        #expect(answers.take(at: 0) == nil && answers.delay(at: 0) == nil)
        #expect(answers.note("a") && !answers.note("b") && answers.delay(at: 0) == 0)
        #expect(answers.take(at: 0) == ["a", "b"])
        #expect(answers.note("a") && answers.delay(at: 1_000) == 4_000)
        #expect(answers.take(at: 4_999) == nil && answers.take(at: 5_000) == ["a"])
    }

    // MARK: Engines

    private let fixture = ReplayFixture()

    /// A server that can be away.
    private final class Server: Sendable {
        let isAway = Guarded(true)
    }

    /// Returns an engine with a replayer, and a job that waits for half an hour because its server was away.
    private func engineWithJob(
        _ server: Server, _ network: StubReachability = StubReachability()
    ) async throws -> (engine: Engine, id: ReplayJob.ID) {
        fixture.serve { request throws(TransportError) in
            if server.isAway.withLock({ $0 }) { throw TransportError(.cannotConnect, "refused") }
            return .stub(status: request.method == .get ? 200 : 201)
        }
        let engine = fixture.engine { configuration in
            configuration.replays = .automatically
            configuration.reachability = network
            configuration.draw = { 0 }
        }
        let id = try #require(try await engine.queue().enqueue(fixture.note(ReplayPolicy(.durable, orderingKey: "a"))))
        try await engine.queue().enqueue(fixture.note(ReplayPolicy(.durable, orderingKey: "a")))
        try await untilTrue { [clock = fixture.clock] in
            guard let job = try engine.queue().job(id), job.state == .waiting else { return false }
            if job.attempts >= 12 { return true }
            if clock.sleeping.contains(where: { $0 <= .seconds(15) }) { clock.advance(by: .seconds(15)) }
            return false
        }
        fixture.clock.advance(by: .seconds(60))
        return (engine, id)
    }

    private func hasDrained(_ engine: Engine) async throws {
        try await untilTrue { [clock = fixture.clock] in
            // These steps do not reach the end of the backoff.
            if clock.sleeping.contains(where: { $0 <= .seconds(5) }) { clock.advance(by: .milliseconds(100)) }
            return try engine.queue().counts()[.done] == 2
        }
    }

    @Test func `a waiting job is sent before the end of its backoff when its origin has answered`() async throws {
        let server = Server()
        let (engine, id) = try await engineWithJob(server)
        server.isAway.withLock { $0 = false }
        let due = try #require(try engine.queue().job(id)).runAt
        #expect(due.timeIntervalSince(fixture.clock.date) > 1_500)
        _ = try await engine.send(Request("http://api.test/cities"))
        try await hasDrained(engine)
        #expect(fixture.clock.date < due)
        await engine.close()
    }

    @Test func `an answer of another origin or with an error status sends no job early`() async throws {
        let server = Server()
        let (engine, id) = try await engineWithJob(server)
        let count = fixture.transport.requests.count
        fixture.serve { request in .stub(status: request.url.contains("other") ? 200 : 503) }
        _ = try await engine.send(Request("http://other.test/cities"))
        _ = try await engine.send(Request("http://api.test/cities"))
        for _ in 0..<20 {
            fixture.clock.advance(by: .seconds(1))
            await Task.yield()
        }
        #expect(try engine.queue().job(id)?.state == .waiting && fixture.transport.requests.count == count + 2)
        await engine.close()
    }

    @Test func `a waiting job is sent before the end of its backoff when the network has returned`() async throws {
        let (server, network) = (Server(), StubReachability())
        let (engine, id) = try await engineWithJob(server, network)
        let due = try #require(try engine.queue().job(id)).runAt
        server.isAway.withLock { $0 = false }
        network.isReachable = true
        try await hasDrained(engine)
        #expect(fixture.clock.date < due)
        await engine.close()
    }

    @Test func `a replayer that ignores the backoff sends each waiting job once`() async throws {
        fixture.serve(ReplayFixture.refused)
        let engine = fixture.engine()
        _ = try await engine.submit(fixture.note(.durable))
        let replayer = try engine.replayer()
        #expect(await replayer.replay() == Replayer.Summary())
        #expect(await replayer.replay(ignoringBackoff: true) == Replayer.Summary(postponed: 1))
        #expect(try engine.queue().jobs().map(\.attempts) == [2])
        fixture.serve { _ in .stub(status: 201) }
        #expect(await replayer.replay(ignoringBackoff: true).finished == 1)
    }

    @Test func `a replayer that ignores the backoff sends a job that was released from a hold`() async throws {
        fixture.serve(ReplayFixture.refused)
        let engine = fixture.engine()
        let queue = try engine.queue()
        _ = try await engine.submit(fixture.note(.durable))
        try await queue.enqueue(fixture.note(ReplayPolicy(.durable)), after: .seconds(60))
        for job in try queue.jobs() {
            try await queue.hold(job.id)
            try await queue.release(job.id)
        }
        #expect(try queue.jobs().map(\.reason) == [.released, .released])
        fixture.serve { _ in .stub(status: 201) }
        #expect(await (try engine.replayer()).replay(ignoringBackoff: true).finished == 1)
        // The other one has not failed: the app has added it for later.
        #expect(try queue.jobs().map(\.state) == [.done, .waiting])
    }

    @Test func `a retry by a filter makes the matching waiting jobs ready`() async throws {
        let queue = try fixture.engine().queue()
        for key in ["a", "b", "a"] {
            try await queue.enqueue(fixture.note(ReplayPolicy(.durable, orderingKey: key)), after: .seconds(60))
        }
        #expect(try await queue.retry(ReplayFilter(orderingKey: "a")) == 2)
        #expect(try queue.jobs().map(\.state) == [.ready, .waiting, .ready])
        #expect(try await queue.retry(ReplayFilter()) == 3)
    }
}
