import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("The jobs of a user who signs out", .limit(minutes: 5)) struct SignOutTests {
    private let fixture = ReplayFixture()
    private var files: TemporaryStore { fixture.temporary }

    /// The texts of a user that a job has on disk.
    private static let texts = [
        "anna", "annas-body", "annas-metadata", "annas-call", "annas-header", "annas-path", "annas-tag", "annas-key",
        "annas-answer", "annas-type", "annas-location",
    ]

    private struct AddNote: Endpoint {
        typealias Output = Nothing
        var text = "annas-call"

        var request: Request {
            get throws {
                var request = Request("http://api.test/annas-path", method: .post, body: .json(["a": "annas-body"]))
                request.headers[.init("X-Note") ?? .te] = "annas-header"
                request.tags = ["annas-tag"]
                request.identity = "anna"
                request.replay = try ReplayPolicy(
                    .durable, orderingKey: "annas-key", unique: nil, metadata: ["a": "annas-metadata"]
                ).storing(self)
                request.replay.storesAnswer = true
                return request
            }
        }
    }

    /// A job of Anna, numbered so that jobs differ.
    private func request(_ number: Int = 0, key: String? = nil) throws -> Request {
        var request = try AddNote().request
        request.url += "\(number)"
        request.replay.orderingKey = key ?? "annas-key-\(number)"
        return request
    }

    private func note(of identity: String?) -> Request {
        var request = fixture.note(.durable)
        request.identity = identity
        return request
    }

    /// Serves answers with a text of the user, of which those with an odd number refuse.
    private func serve() {
        fixture.serve { request throws(TransportError) in
            let isRefused = request.url.last?.wholeNumberValue.map { $0 % 2 == 1 } ?? false
            let headers: HTTPFields = [.contentType: "application/annas-type", .location: "/annas-location"]
            return .stub(status: isRefused ? 422 : 201, headers: headers, body: "annas-answer")
        }
    }

    /// Sends a number of jobs of Anna, among jobs of Ben.
    private func send(_ count: Int, by engine: Engine) async throws {
        serve()
        let queue = try engine.queue()
        for number in 0..<count {
            try await queue.enqueue(request(number))
            try await queue.enqueue(note(of: "ben"))
        }
        await (try engine.replayer()).replay()
    }

    @Test func `are overwritten in every file once they have ended`() async throws {
        let engine = fixture.engine()
        try await send(60, by: engine)
        let queue = try engine.queue()
        #expect(try queue.count(ReplayFilter(identity: "anna")) == 60)
        #expect(try files.found(Self.texts) == Self.texts)
        try await engine.forget(identity: "anna")
        #expect(try queue.count(ReplayFilter(identity: "anna")) == 0)
        #expect(try queue.count(ReplayFilter(identity: "ben")) == 60)
        // The hold names the user, who has to be released after the next login.
        #expect(try files.found(Self.texts) == ["anna"])
        await engine.close()
    }

    @Test func `no file has a text of a user who signs out and discards the jobs`() async throws {
        let engine = fixture.engine()
        try await send(20, by: engine)
        fixture.serve(ReplayFixture.refused)
        let queue = try engine.queue()
        for number in 20..<40 { try await queue.enqueue(request(number)) }
        try await queue.hold(.key("annas-key-21"))
        try await queue.release(.key("annas-key-21"))
        await (try engine.replayer()).replay()
        try await queue.enqueue(request(40), after: .seconds(60))
        #expect(try files.found(Self.texts) == Self.texts)
        try await engine.forget(identity: "anna", discardingJobs: true)
        #expect(try files.found(Self.texts) == [])
        #expect(try queue.count(ReplayFilter(identity: "ben")) == 20 && queue.holds().isEmpty)
        await engine.close()
        #expect(try files.found(Self.texts) == [])
    }

    @Test func `the open jobs of a user who signs out wait for the next login`() async throws {
        let engine = fixture.engine()
        let queue = try engine.queue()
        try await queue.enqueue([request(0), request(1), note(of: nil), note(of: "ben")])
        try await engine.forget(identity: "anna")
        #expect(try queue.jobs(ReplayFilter(identity: "anna")).map(\.state) == [.held, .held])
        #expect(try queue.job(1)?.call(as: AddNote.self)?.text == "annas-call")
        try await queue.release(.identity("anna"))
        serve()
        let summary = await (try engine.replayer()).replay()
        #expect(summary.finished == 3 && summary.dead == 1)
        await engine.close()
    }

    @Test func `lists of jobs leave out the jobs of a user who has signed out, until the next login`() async throws {
        let engine = fixture.engine()
        let queue = try engine.queue()
        try await queue.enqueue([request(0), note(of: nil), note(of: "ben"), request(1)])
        try await engine.forget(identity: "anna")
        #expect(try queue.jobs().map(\.identity) == [nil, "ben"] && queue.count(ReplayFilter()) == 2)
        #expect(try queue.jobs(ReplayFilter(states: [.held])).isEmpty && queue.keys().isEmpty)
        #expect(try queue.jobs(ReplayFilter(includesSignedOut: true)).count == 4)
        #expect(try queue.jobs(ReplayFilter(identity: "anna")).count == 2)
        #expect(try await queue.apply(.discard, to: ReplayFilter()).done == [2, 3])
        try await queue.release(.identity("anna"))
        #expect(try queue.jobs().map(\.identity) == ["anna", nil, "ben", "anna"] && queue.keys().count == 2)
        await engine.close()
    }

    @Test func `lists of jobs have those of a user whom the app holds for another reason`() async throws {
        let queue = try fixture.engine().queue()
        try await queue.enqueue(request())
        try await queue.hold(.identity("anna"), reason: "token expired")
        #expect(try queue.jobs().map(\.state) == [.held])
    }

    @Test func `a job that is being sent at the sign-out is erased when it has ended`() async throws {
        let engine = fixture.engine()
        let queue = try engine.queue()
        let checkpoint = Checkpoint()
        fixture.serve { _ throws(TransportError) in
            await checkpoint.pass()
            return .stub(status: 201, body: "annas-answer")
        }
        try await queue.enqueue(request())
        let replayer = try engine.replayer()
        async let summary = replayer.replay()
        await checkpoint.reached()
        try await engine.forget(identity: "anna")
        #expect(try queue.jobs(ReplayFilter(identity: "anna")).map(\.state) == [.running])
        checkpoint.open()
        #expect(await summary.finished == 1)
        await engine.close()
        #expect(try files.found(Self.texts) == ["anna"])
    }

    @Test func `a job that is being sent is gone at once if the user discards the jobs`() async throws {
        let engine = fixture.engine()
        let queue = try engine.queue()
        let checkpoint = Checkpoint()
        fixture.serve { _ throws(TransportError) in
            await checkpoint.pass()
            return .stub(status: 201, body: "annas-answer")
        }
        var next = note(of: "ben")
        next.replay.orderingKey = "shared"
        try await queue.enqueue([request(0, key: "shared"), next])
        let replayer = try engine.replayer()
        async let summary = replayer.replay()
        await checkpoint.reached()
        try await engine.forget(identity: "anna", discardingJobs: true)
        #expect(try queue.job(1) == nil && queue.job(2)?.isHead == true)
        checkpoint.open()
        _ = await summary
        #expect(try queue.job(2)?.state == .done)
        await engine.close()
        #expect(try files.found(Self.texts.filter { $0 != "annas-answer" }) == [])
    }

    @Test func `a request of a user who signs out that fails afterwards is not queued`() async throws {
        let engine = fixture.engine()
        let queue = try engine.queue()
        let checkpoint = Checkpoint()
        fixture.serve { _ throws(TransportError) in
            await checkpoint.pass()
            throw TransportError(.cannotConnect, "refused")
        }
        var request = fixture.note(.onFailure)
        request.identity = "anna"
        let sent = Task { [request] in try await engine.send(request) }
        await checkpoint.reached()
        try await engine.forget(identity: "anna", discardingJobs: true)
        checkpoint.open()
        let error = await #expect(throws: ConnectionError.self) { _ = try await sent.value }
        #expect(error?.code == .cannotConnect)
        #expect(try queue.jobs(ReplayFilter(includesSignedOut: true)).isEmpty)
        await engine.close()
    }

    @Test func `a durable request of a user who signs out and discards the jobs returns its response`() async throws {
        let engine = fixture.engine()
        _ = try engine.queue()
        let checkpoint = Checkpoint()
        fixture.serve { _ throws(TransportError) in
            await checkpoint.pass()
            return .stub(status: 201)
        }
        var request = fixture.note(.durable)
        request.identity = "anna"
        let sent = Task { [request] in try await engine.send(request) }
        await checkpoint.reached()
        try await engine.forget(identity: "anna", discardingJobs: true)
        checkpoint.open()
        #expect(try await sent.value.status.code == 201)
        await engine.close()
    }

    @Test(arguments: [false, true])
    func `a queue that cannot be written is an error of a sign-out, after the entries were erased`(
        discardsJobs: Bool
    ) async throws {
        _ = try ReplayQueue(files.store, seal: AESGCMSeal.first)
        let engine = fixture.engine()
        let cache = try #require(engine.cache)
        try cache.store(.stub("http://h/", identity: "anna"))
        await cache.flush()
        let error = await #expect(throws: CacheError.self) {
            try await engine.forget(identity: "anna", discardingJobs: discardsJobs)
        }
        #expect(error?.code == .cannotSeal && error?.message.contains("is sealed with") == true)
        #expect(try cache.count(.identity("anna")) == 0)
        await engine.close()
    }

    @Test func `a sign-out rewrites the queue's file only if it has erased something`() async throws {
        let engine = fixture.engine()
        try await send(2, by: engine)
        let queue = try engine.queue()
        let rewrites = try queue.database.rewrites()
        try await engine.forget(identity: "carl")
        #expect(try queue.database.rewrites() == rewrites)
        try await engine.forget(identity: "anna")
        #expect(try queue.database.rewrites() == rewrites + 1)
        try await engine.forget(identity: "anna", discardingJobs: true)
        await engine.close()
        #expect(try queue.database.rewrites() == rewrites + 1)
    }

    @Test func `jobs that a process has erased and not overwritten are overwritten by the next one`() async throws {
        let queue = try ReplayQueue(files.store)
        let rewrites = try queue.database.rewrites()
        // As the process leaves it that ends between the two.
        ErasureNote(files.store.erasedPath).note()
        await queue.close()
        #expect(try queue.database.rewrites() == rewrites + 1)
        await queue.close()
        #expect(try queue.database.rewrites() == rewrites + 1)
    }

    @Test func `an erasure that comes while the file is rewritten is overwritten by the next rewrite`() throws {
        _ = try ReplayQueue(files.store)
        let note = ErasureNote(files.store.erasedPath)
        note.note()
        let first = try #require(note.due)
        note.note()
        note.clear(first)
        let second = try #require(note.due)
        #expect(FileManager.default.fileExists(atPath: files.store.erasedPath))
        note.clear(second)
        #expect(note.due == nil)
        #expect(!FileManager.default.fileExists(atPath: files.store.erasedPath))
    }

    @Test func `a job that waits for an object of a user who discards the jobs will not get its id`() async throws {
        let engine = fixture.engine()
        let queue = try engine.queue()
        let localID = "local:96001A3D-0000-4000-8000-000000000001"
        var creation = try request()
        creation.replay.creates = ReplayCreation(localID, paths: [["id"]])
        var waiting = note(of: "ben")
        waiting.body = .json(["of": .string(localID)])
        waiting.replay.awaits = [localID]
        try await queue.enqueue([creation, waiting])
        #expect(try queue.job(2)?.reason == .awaitingID)
        try await engine.forget(identity: "anna", discardingJobs: true)
        #expect(try queue.job(1) == nil)
        #expect(try queue.job(2)?.state == .held && queue.job(2)?.reason == .creationFailed)
        await engine.close()
    }

    @Test func `an ended job stays if open jobs of the user who signs out need it`() async throws {
        let engine = fixture.engine()
        let queue = try engine.queue()
        serve()
        // A dead job in strict order stops the job after it. The answer to a creation has the id for the next call.
        var strict = try [request(1, key: "strict"), request(2, key: "strict")]
        for index in strict.indices { strict[index].replay.order = .strict }
        let localID = "local:96001A3D-0000-4000-8000-000000000001"
        var creation = try request(0, key: "object")
        var waiting = try request(4, key: "object")
        creation.replay.creates = ReplayCreation(localID, paths: [])
        waiting.body = .json(["of": .string(localID)])
        waiting.replay.awaits = [localID]
        try await queue.enqueue(strict + [creation, waiting, request(6)])
        await (try engine.replayer()).replay()
        #expect(try (1...5).map { try queue.job($0)?.state } == [.dead, .ready, .done, .held, .done])
        try await engine.forget(identity: "anna")
        #expect(try (1...5).map { try queue.job($0)?.state } == [.dead, .held, .done, .held, nil])
        #expect(try queue.answeredJob(3)?.answer?.body == Data("annas-answer".utf8))
        await engine.close()
    }
}
