import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond
@testable import DiamondInspection

@Suite("A queue whose rows are sealed", .limit(minutes: 5)) struct SealedQueueTests {
    private let fixture = ReplayFixture()
    private var files: TemporaryStore { fixture.temporary }

    /// The texts that jobs have on disk in clear.
    private static let texts = [
        "anna", "a-body", "a-metadata", "a-call", "a-header", "a-path", "a-tag", "a-key", "a-unique", "a-host.test",
        "a-reason", "the-answer", "the-type", "the-location", "the-failure",
    ]

    private struct AddNote: Endpoint {
        typealias Output = Nothing
        static let kind = "AddNote"
        var text = "a-call"
        var request: Request { Request("http://a-host.test/a-path") }
    }

    private func request(_ change: (inout Request) -> Void = { _ in }) throws -> Request {
        var request = Request("http://a-host.test/a-path", method: .post, body: .json(["a": "a-body"]))
        request.headers[.init("X-Note") ?? .te] = "a-header"
        request.tags = ["a-tag"]
        request.identity = "anna"
        request.replay = try ReplayPolicy(.durable, orderingKey: "a-key", metadata: ["a": "a-metadata"])
            .storing(AddNote())
        request.replay.storesAnswer = true
        change(&request)
        return request
    }

    private func engine(_ seal: (any CacheSeal)?) -> Engine { fixture.engine { $0.seal = seal } }

    private func answer() {
        fixture.serve { _ throws(TransportError) in
            .stub(
                status: 422, headers: [.contentType: "text/the-type", .location: "/the-location"], body: "the-answer")
        }
    }

    /// Adds three jobs to a queue: one that has an answer, one that has failed, and a held one.
    private func fill(_ engine: Engine) async throws {
        let queue = try engine.queue()
        answer()
        try await queue.enqueue(request())
        await (try engine.replayer()).replay()
        fixture.serve { _ throws(TransportError) in
            throw TransportError(.cannotConnect, "the-failure", serverMayHaveActed: false)
        }
        try await queue.enqueue(request())
        await (try engine.replayer()).replay()
        try await queue.enqueue(request { $0.replay.unique = "a-unique" })
        try await queue.hold(.key("a-key"), reason: "a-reason")
    }

    /// Checks everything that ``fill(_:)`` has written.
    private func check(_ queue: ReplayQueue) throws {
        let jobs = try queue.jobs()
        #expect(jobs.map(\.state) == [.dead, .held, .held])
        for job in jobs {
            #expect(job.url == "http://a-host.test/a-path" && job.host == "a-host.test" && job.identity == "anna")
            #expect(job.orderingKey == "a-key" && job.tags == ["a-tag"] && job.metadata == ["a": "a-metadata"])
            #expect(try job.call(as: AddNote.self)?.text == "a-call" && job.idempotencyKey != nil)
            #expect(try queue.request(of: job.id)?.body == .json(["a": "a-body"]))
        }
        let answer = try #require(try queue.answeredJob(1)?.answer)
        #expect(answer.status.code == 422 && answer.body == Data("the-answer".utf8))
        #expect(answer.location == "/the-location" && answer.headers == [.contentType: "text/the-type"])
        #expect(try queue.failures(of: 2).first?.message.contains("the-failure") == true)
        #expect(try queue.holds().map(\.hold) == [.key("a-key")] && queue.holds().map(\.reason) == ["a-reason"])
        for filter in [
            ReplayFilter(orderingKey: "a-key"), ReplayFilter(identity: "anna"), ReplayFilter(host: "A-host.test"),
            ReplayFilter(tag: "a-tag"),
        ] { #expect(try queue.count(filter) == 3, "\(filter)") }
        #expect(try queue.count(ReplayFilter(tag: "a")) == 0 && queue.keys().map(\.count) == [2])
        #expect(try ReplayInspection(of: files.store)?.findings.isEmpty == true)
    }

    @Test func `no file of a sealed queue has a text of a job, and the seal shows all of them`() async throws {
        let engine = engine(.first)
        try await fill(engine)
        try check(engine.queue())
        #expect(try files.found(Self.texts) == [])
        await engine.close()
        try check(ReplayQueue(files.store, seal: AESGCMSeal.first))
        #expect(try files.found(Self.texts) == [])
    }

    @Test func `a queue in clear has the texts of its jobs`() async throws {
        try await fill(engine(nil))
        #expect(try files.found(Self.texts) == Self.texts)
    }

    @Test func `a queue in clear is sealed when it is opened with a seal`() async throws {
        let clear = engine(nil)
        try await fill(clear)
        await clear.close()
        let queue = try ReplayQueue(files.store, seal: AESGCMSeal.first)
        try check(queue)
        #expect(try files.found(Self.texts) == [])
        await queue.close()
        #expect(try files.found(Self.texts) == [])
    }

    @Test func `a queue whose values in clear were not overwritten is rewritten at its next opening`() throws {
        let database = try ReplayQueue(files.store, seal: AESGCMSeal.first).database
        func isOverwritten() throws -> Bool {
            try database.read { (connection) throws(SQLiteError) in
                try ReplayTable.secret(on: connection)?.isOverwritten == true
            }
        }
        #expect(try isOverwritten())
        try database.write { (connection) throws(SQLiteError) in
            try connection.execute("UPDATE secret SET is_overwritten = 0")
        }
        _ = try ReplayQueue(files.store, seal: AESGCMSeal.first)
        #expect(try isOverwritten())
    }

    @Test func `a queue that was sealed by another program is refused by a program that has it open in clear`()
        async throws
    {
        let clear = try ReplayQueue(files.store)
        try await clear.enqueue(request())
        let sealed = try ReplayQueue(files.store, seal: AESGCMSeal.first)
        await #expect(throws: ReplayError.self) { try await clear.enqueue(request()) }
        #expect(throws: ReplayError.self) { try clear.jobs() }
        #expect(try sealed.jobs().count == 1)
    }

    @Test(arguments: [nil, AESGCMSeal.other, .impostor, .onlySecond] as [AESGCMSeal?])
    func `a sealed queue without its key is refused, and keeps its jobs`(_ seal: AESGCMSeal?) async throws {
        let engine = engine(.first)
        try await fill(engine)
        await engine.close()
        let error = #expect(throws: ReplayError.self) { try ReplayQueue(files.store, seal: seal) }
        #expect(error?.code == .cannotSeal && error?.message.contains("sealed with") == true)
        let other = fixture.engine { $0.seal = seal }
        let refused = await #expect(throws: ConnectionError.self) { _ = try await other.send(request()) }
        #expect(refused?.code == .cannotQueue)
        await other.close()
        try check(ReplayQueue(files.store, seal: AESGCMSeal.first))
    }

    @Test func `a queue is sealed again when its key changes`() async throws {
        let engine = engine(.first)
        try await fill(engine)
        await engine.close()
        try check(ReplayQueue(files.store, seal: AESGCMSeal.second))
        try check(ReplayQueue(files.store, seal: AESGCMSeal.onlySecond))
        #expect(throws: ReplayError.self) { try ReplayQueue(files.store, seal: AESGCMSeal.first) }
    }

    @Test func `two programs with different keys do not seal a queue again in turn`() async throws {
        let engine = engine(.first)
        try await fill(engine)
        await engine.close()
        // Each of them has the key of the other as an older one.
        let second = AESGCMSeal.second
        let first = try AESGCMSeal(
            key: AESGCMSeal.firstKey, id: "first", olderKeys: ["second": Data(repeating: 2, count: 32)])
        func details() throws -> [Data] {
            let database = try SQLiteDatabase(path: files.store.replayPath, configuration: files.store.replaySchema)
            return try database.read { (connection) throws(SQLiteError) in
                let statement = try connection.statement("SELECT details FROM job ORDER BY id")
                var values: [Data] = []
                while try statement.step() { values.append(statement.data(0)) }
                return values
            }
        }
        let ofFirst = try details()
        try check(ReplayQueue(files.store, seal: second))
        let ofSecond = try details()
        #expect(Set(ofFirst + ofSecond).count == 6)
        // The first key was replaced, so it replaces none.
        for seal in [first, second, first] {
            let queue = try ReplayQueue(files.store, seal: seal)
            try check(queue)
            #expect(try details() == ofSecond && !queue.isBehindSeal)
        }
        let engineOfFirst = self.engine(first)
        try await engineOfFirst.queue().enqueue(request())
        await engineOfFirst.close()
        #expect(try ReplayQueue(files.store, seal: second).jobs().last?.url == "http://a-host.test/a-path")
    }

    @Test func `an engine is made while its queue waits to be sealed, and the holds of the queue apply`() async throws {
        let clear = self.engine(nil)
        try await clear.queue().enqueue(request())
        try await clear.queue().hold(.lane(Lane("uploads")), reason: "a-reason")
        await clear.close()
        let seal = GatedSeal()
        let engine = engine(seal)
        // The seal is not asked before the gate is open, so this thread has not sealed the queue.
        #expect(engine.lanes.isPaused(Lane("uploads")) && !engine.lanes.isPaused(.default))
        #expect(try files.found(["a-body"]) == ["a-body"])
        seal.open()
        #expect(try engine.queue().jobs().map(\.url) == ["http://a-host.test/a-path"])
        #expect(try files.found(Self.texts) == [])
        #expect(engine.lanes.isPaused(Lane("uploads")))
        await engine.close()
    }

    @Test func `a sealed queue that has lost its secret is refused, and keeps its jobs`() async throws {
        try await ReplayQueue(files.store, seal: AESGCMSeal.first).enqueue(request())
        let database = try SQLiteDatabase(path: files.store.replayPath, configuration: files.store.replaySchema)
        try database.write { (connection) throws(SQLiteError) in try connection.execute("DELETE FROM secret") }
        let error = #expect(throws: ReplayError.self) { try ReplayQueue(files.store, seal: AESGCMSeal.first) }
        #expect(error?.code == .cannotSeal)
        let count = try database.read { (connection) throws(SQLiteError) in
            try connection.integer("SELECT count(*) FROM job")
        }
        #expect(count == 1)
    }

    @Test func `an operator's program seals no queue and changes no key`() async throws {
        try await ReplayQueue(files.store).enqueue(request())
        #expect(try ReplayQueue(existing: files.store, seal: AESGCMSeal.first).jobs().count == 1)
        #expect(try ReplayQueue(existing: files.store).jobs().count == 1)
        _ = try ReplayQueue(files.store, seal: AESGCMSeal.first)
        #expect(try ReplayQueue(existing: files.store, seal: AESGCMSeal.second).jobs().first?.identity == "anna")
        #expect(try ReplayQueue(existing: files.store, seal: AESGCMSeal.first).jobs().count == 1)
    }

    @Test func `sends its jobs in order, once, with their keys`() async throws {
        let first = engine(.first)
        let queue = try first.queue()
        for number in 1...3 { try await queue.enqueue(request { $0.url += "/\(number)" }) }
        try await queue.enqueue(fixture.note(.durable))
        await first.close()
        let second = engine(.first)
        #expect(await (try second.replayer(identities: { ["anna"] })).replay().finished == 4)
        let urls = fixture.transport.requests.map(\.url).filter { $0.contains("a-path") }
        #expect(urls == (1...3).map { "http://a-host.test/a-path/\($0)" })
        #expect(Set(fixture.keys).count == 4)
        #expect(try second.queue().jobs().map(\.state) == [.done, .done, .done, .done])
        await second.close()
    }

    @Test func `a replayer of a sealed queue claims the jobs of its identities only`() async throws {
        let engine = engine(.first)
        try await engine.queue().enqueue([request(), request { $0.identity = "ben" }])
        #expect(await (try engine.replayer(identities: { ["ben"] })).replay().finished == 0)
        #expect(await (try engine.replayer(identities: { ["anna"] })).replay().finished == 1)
        await engine.close()
    }

    @Test func `merges and replaces jobs of one unique name, and edits them`() async throws {
        let queue = try ReplayQueue(files.store, seal: AESGCMSeal.first)
        func named(_ uniqueness: ReplayPolicy.Uniqueness, _ name: String) throws -> Request {
            try request { request in
                request.method = .patch
                request.body = .json([name: 1])
                (request.replay.unique, request.replay.uniqueness) = ("a-unique", uniqueness)
            }
        }
        #expect(try await queue.enqueue(named(.merge, "a")) == 1)
        #expect(try await queue.enqueue(named(.merge, "b")) == 1)
        #expect(try queue.request(of: 1)?.body == .json(["a": 1, "b": 1]))
        #expect(try await queue.enqueue(named(.keep, "c")) == 1)
        #expect(try await queue.enqueue(named(.replace, "d")) == 1)
        #expect(try await queue.edit(1) { $0.body = .json(["e": 1]) } == 1)
        #expect(try queue.request(of: 1)?.body == .json(["e": 1]) && queue.counts()[.ready] == 1)
    }

    @Test func `an early retry finds the jobs of an origin in a sealed queue`() async throws {
        let engine = engine(.first)
        fixture.serve(ReplayFixture.refused)
        let queue = try engine.queue()
        try await queue.enqueue([request(), fixture.note(.durable)])
        await (try engine.replayer()).replay()
        // The pause before an early retry has passed, and the backoff has not.
        let later = try queue.moment().time + 60_000
        try await queue.writer.write { (connection, _) throws(SQLiteError) in
            try connection.run("UPDATE job SET run_at = run_at + 3600000")
        }
        let ids = try ["http://a-host.test", "http://b.test"].map { origin in
            try queue.read { (connection) throws(SQLiteError) in
                try ReplayTable.early(.originsAnswered([origin]), at: later, on: connection)
            }
        }
        #expect(ids == [[1], []])
        await engine.close()
    }

    @Test func `a sealed value cannot be opened in another place, nor if it was changed`() throws {
        let sealing = ReplaySealing(AESGCMSeal.first, secret: Data())
        let value = try sealing.sealed(Data("a".utf8), .request, of: "1")
        #expect(try sealing.opened(value, .request, of: "1") == Data("a".utf8))
        #expect(try sealing.opened(value, .request, of: "2") == nil && sealing.opened(value, .answer, of: "1") == nil)
        let another = ReplaySealing(AESGCMSeal.first, secret: Data(repeating: 1, count: 32))
        #expect(try another.opened(value, .request, of: "1") == nil)
        for count in 0..<value.count { #expect(try sealing.opened(value.prefix(count), .request, of: "1") == nil) }
        #expect(try ReplaySealing(AESGCMSeal.other, secret: Data()).opened(value, .request, of: "1") == nil)
    }

    @Test func `a job with an unknown key stops no other job, and is sent once the key is known`() async throws {
        let first = self.engine(.first)
        let older = try first.queue()
        try await older.enqueue(fixture.note(.durable))
        _ = try ReplayQueue(files.store, seal: AESGCMSeal.second)
        // A program that has not noticed the change of keys.
        try await older.enqueue(request())
        try await older.hold(.key("another-key"), reason: "a-reason")
        let engine = engine(.onlySecond)
        let queue = try engine.queue()
        #expect(try queue.jobs().map(\.url) == ["http://api.test/notes", "•••"] && queue.holds().count == 1)
        let summary = await (try engine.replayer(identities: { ["anna"] })).replay()
        #expect(summary.finished == 1, "\(summary)")
        let jobs = try queue.jobs()
        #expect(jobs.map(\.state) == [.done, .needsReview] && jobs.last?.reason == .damaged, "\(jobs)")
        await #expect(throws: ReplayError.self) { try await queue.redrive(2) }
        await engine.close()
        let second = self.engine(.second)
        try await second.queue().redrive(2)
        #expect(await (try second.replayer(identities: { ["anna"] })).replay().finished == 1)
        await second.close()
        try await older.enqueue(request())
        let third = try ReplayQueue(files.store, seal: AESGCMSeal.third)
        #expect(try third.jobs().count == 3)
        try await older.release(.key("another-key"))
        #expect(try third.holds().isEmpty)
        await first.close()
    }

    @Test func `details of a sealed job that were moved from another job are masked, and the request is used`()
        async throws
    {
        let queue = try ReplayQueue(files.store, seal: AESGCMSeal.first)
        try await queue.enqueue([request(), request()])
        try await queue.writer.write { (connection, _) throws(SQLiteError) in
            try connection.statement(
                "UPDATE job SET details = (SELECT details FROM job WHERE id = 1) WHERE id = 2"
            ).run()
        }
        #expect(try queue.jobs().map(\.url) == ["http://a-host.test/a-path", "•••"])
        #expect(try queue.request(of: 2)?.body == .json(["a": "a-body"]))
    }

    @Test func `a user's jobs in a sealed queue are erased, and the rest stays`() async throws {
        let engine = engine(.first)
        try await fill(engine)
        try await engine.queue().enqueue(fixture.note(.durable))
        try await engine.forget(identity: "anna")
        let queue = try engine.queue()
        #expect(try queue.jobs().map(\.id) == [4] && queue.jobs(ReplayFilter(identity: "anna")).map(\.id) == [2, 3])
        try await engine.forget(identity: "anna", discardingJobs: true)
        #expect(try queue.jobs(ReplayFilter(includesSignedOut: true)).map(\.id) == [4])
        await engine.close()
    }
}

/// A seal whose calls for a queue wait until a gate is open.
private final class GatedSeal: CacheSeal {
    private let seal = AESGCMSeal.first
    private let gate = DispatchSemaphore(value: 0)

    var keyID: String { seal.keyID }

    func open() { gate.signal() }

    func seal(_ bytes: Data, context: Data) throws -> Data {
        if context.starts(with: Data("diamond 1 queue".utf8)) {
            gate.wait()
            gate.signal()
        }
        return try seal.seal(bytes, context: context)
    }

    func open(_ bytes: Data, keyID: String, context: Data) throws -> Data {
        try seal.open(bytes, keyID: keyID, context: context)
    }
}
