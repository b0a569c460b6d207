import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("Jobs whose requests refer to objects that other jobs create", .limit(minutes: 5)) struct AwaitedObjectTests {
    private let fixture = ReplayFixture()

    private static let task = "local:96001A3D-0000-4000-8000-000000000001"
    private static let remark = "local:96001A3D-0000-4000-8000-000000000002"
    private static let base = "http://api.test/"

    /// The request that creates an object.
    private func creation(
        _ localID: String = task, of list: String = "tasks", _ body: JSONValue = ["title": "a"],
        paths: [[String]] = [["id"]]
    ) -> Request {
        var request = call(.post, list, body, key: localID)
        request.replay.creates = ReplayCreation(localID, paths: paths)
        request.replay.metadata = ["model": .string(list), "list": .string(list), "call": "create"]
        request.replay.metadata["localID"] = .string(localID)
        return request
    }

    /// The request of another call, which waits for all objects without an id to which it refers.
    private func call(
        _ method: HTTPRequest.Method, _ path: String, _ body: JSONValue? = nil, key: String = "other"
    ) -> Request {
        var request = Request(Self.base + path, method: method, body: body.map { .json($0) })
        request.replay = ReplayPolicy(.durable, orderingKey: key, unique: key, uniqueness: .merge)
        request.replay.storesAnswer = true
        request.replay.awaits = request.localIDs
        return request
    }

    private func remark(of task: String = task) -> Request {
        creation(Self.remark, of: "remarks", ["text": "b", "task": .string(task)])
    }

    /// Answers each creation with the next id from 7 on, and notes what arrives.
    private func serve(_ answers: [TransportResponse] = []) -> Guarded<[String]> {
        let arrived = Guarded<[String]>([])
        let left = Guarded(answers)
        fixture.serve { request throws(TransportError) in
            var body = ""
            if case .bytes(let data) = request.body { body = " " + String(decoding: data, as: UTF8.self) }
            let count = arrived.withLock { arrived in
                arrived.append("\(request.method.rawValue) \(request.url.dropFirst(Self.base.count))\(body)")
                return arrived.count
            }
            if let answer = left.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { return answer }
            return .stub(status: 201, body: #"{"id": \#(count + 6)}"#)
        }
        return arrived
    }

    /// Places of a local id in a request, and what is sent.
    private static let places: [(request: @Sendable (AwaitedObjectTests) -> Request, sent: String)] = [
        ({ $0.call(.post, "tasks/\(task.urlSegment)/remarks", ["n": 1]) }, #"POST tasks/7/remarks {"n":1}"#),
        ({ $0.call(.post, "tasks/\(task)/remarks", ["n": 1]) }, #"POST tasks/7/remarks {"n":1}"#),
        ({ $0.call(.patch, "remarks/3", ["task": .string(task)]) }, #"PATCH remarks/3 {"task":7}"#),
        ({ $0.call(.put, "remarks/3", ["of": ["t": [.string(task), 5]]]) }, #"PUT remarks/3 {"of":{"t":[7,5]}}"#),
        ({ $0.call(.delete, "tasks/\(task.urlSegment)/remarks/3?task=\(task)") }, "DELETE tasks/7/remarks/3?task=7"),
        ({ $0.parameterized }, "POST remarks task=7"),
        ({ $0.form }, "POST remarks task=7"),
    ]

    private var parameterized: Request {
        var request = call(.post, "remarks")
        request.parameters["task"] = .string(Self.task)
        request.replay.awaits = request.localIDs
        return request
    }

    private var form: Request {
        var request = call(.post, "remarks")
        request.body = .form(["task": Self.task])
        request.replay.awaits = request.localIDs
        return request
    }

    /// The state of the creation when the other call is added.
    enum Parent: CaseIterable { case waiting, answered, consumed }

    @Test(arguments: places.indices, Parent.allCases)
    func `an id is put into each place of a request before it is sent`(_ place: Int, _ parent: Parent) async throws {
        let arrived = serve()
        let engine = fixture.engine()
        let queue = try engine.queue()
        let (request, sent) = (Self.places[place].request(self), Self.places[place].sent)
        #expect(request.replay.awaits == [Self.task])
        let first = try #require(try await queue.enqueue(creation()))
        if parent != .waiting { await (try engine.replayer()).replay() }
        if parent == .consumed { try await queue.consumeAnswers(of: [first], retaining: [first]) }
        let second = try #require(try await queue.enqueue(request))
        if parent == .waiting {
            #expect(try queue.job(second)?.state == .held && queue.job(second)?.reason == .awaitingID)
            #expect(try queue.job(second)?.awaitedJobs == [first])
            await #expect(throws: ReplayError.self) { try await queue.release(second) }
        } else {
            #expect(try queue.job(second)?.state == .ready)
        }
        await (try engine.replayer()).replay()
        #expect(arrived.withLock { $0 } == [#"POST tasks {"title":"a"}"#, sent])
        #expect(try queue.job(second)?.state == .done && queue.job(second)?.awaitedJobs == [])
        #expect(try queue.job(second)?.url.contains("local") == false)
        #expect(try queue.request(of: second)?.replay.awaits == [])
        await engine.close()
    }

    @Test func `a call that is added while the creation is being sent gets its id`() async throws {
        let checkpoint = Checkpoint()
        fixture.serve { request throws(TransportError) in
            if request.url.hasSuffix("tasks") {
                await checkpoint.pass()
            }
            return .stub(status: 201, body: #"{"id": 7}"#)
        }
        let engine = fixture.engine()
        let queue = try engine.queue()
        try await queue.enqueue(creation())
        let replayer = try engine.replayer()
        let replaying = Task { await replayer.replay() }
        await checkpoint.reached()
        let second = try #require(try await queue.enqueue(remark()))
        #expect(try queue.job(second)?.reason == .awaitingID)
        checkpoint.open()
        _ = await replaying.value
        await (try engine.replayer()).replay()
        #expect(try queue.job(second)?.state == .done)
        #expect(try queue.request(of: second)?.body == .json(["text": "b", "task": 7]))
        await engine.close()
    }

    /// Answers with an id, its paths, and the id in the request that needs it.
    private static let answers: [(body: String, location: String?, paths: [[String]], sent: String?)] = [
        (#"{"id": 7}"#, nil, [["id"]], "7"),
        (#"{"id": "a/b"}"#, nil, [["id"]], #""a/b""#),
        (#"{"data": {"id": "7"}, "id": 9}"#, nil, [["data", "id"], ["id"]], #""7""#),
        (#"{"id": 7}"#, nil, [["data", "id"], ["id"]], "7"),
        ("", "/tasks/8", [["id"]], "8"),
        ("", "/tasks/007", [["id"]], #""007""#),
        (#"{"id": null}"#, "/tasks/a%2Fb", [["id"]], #""a/b""#),
        (#"{"id": ""}"#, nil, [["id"]], nil),
        (#"{"id": 7}"#, "/tasks/8", [], nil),
        ("[]", nil, [["id"]], nil),
    ]

    @Test(arguments: answers.indices)
    func `the queue finds the id in the answer`(_ index: Int) async throws {
        let (body, location, paths, sent) = Self.answers[index]
        let arrived = serve([.stub(status: 201, headers: location.map { [.location: $0] } ?? [:], body: body)])
        let engine = fixture.engine()
        let queue = try engine.queue()
        try await queue.enqueue(creation(paths: paths))
        let second = try #require(try await queue.enqueue(remark()))
        await (try engine.replayer()).replay()
        guard let sent else {
            #expect(try queue.job(second)?.reason == .awaitingID && arrived.withLock { $0.count } == 1)
            // A program that knows the class reads the id.
            try await queue.assign(5, to: Self.task)
            #expect(try queue.job(second)?.state == .ready)
            #expect(try queue.request(of: second)?.body == .json(["text": "b", "task": 5]))
            return await engine.close()
        }
        #expect(arrived.withLock { $0.last } == #"POST remarks {"task":\#(sent),"text":"b"}"#)
        #expect(try queue.job(1)?.metadata["id"].map(\.description) == sent)
        await engine.close()
    }

    @Test func `an answer without an id fails the calls that need it when it is collected`() async throws {
        _ = serve([.stub(status: 204)])
        let engine = fixture.engine()
        let queue = try engine.queue()
        let first = try #require(try await queue.enqueue(creation()))
        let second = try #require(try await queue.enqueue(remark()))
        await (try engine.replayer()).replay()
        #expect(try queue.job(second)?.reason == .awaitingID)
        try await queue.consumeAnswers(of: [first])
        #expect(try queue.job(second)?.reason == .creationFailed)
        await engine.close()
    }

    @Test func `the end of another hold does not release a call that needs an id`() async throws {
        let queue = try fixture.engine().queue()
        try await queue.enqueue(creation())
        let second = try #require(try await queue.enqueue(remark()))
        try await queue.hold(.key(Self.remark))
        #expect(try await queue.release(.key(Self.remark)) == 0)
        #expect(try await queue.apply(.release, to: ReplayFilter()).done.isEmpty)
        #expect(try queue.job(second)?.reason == .awaitingID)
        // An id that comes while the key is held leaves the call to that hold.
        try await queue.hold(.key(Self.remark))
        try await queue.assign(7, to: Self.task)
        #expect(try queue.job(second)?.state == .held && queue.job(second)?.reason == .held)
        #expect(try await queue.release(.key(Self.remark)) == 1)
    }

    // MARK: Failures

    /// How a creation that was refused succeeds later.
    enum Revival: CaseIterable { case redriven, savedAgain, neither }

    @Test(arguments: Revival.allCases)
    func `a refused creation holds the calls that need its object, until it succeeds`(_ revival: Revival) async throws {
        let arrived = serve([.stub(status: 422)])
        let engine = fixture.engine()
        let queue = try engine.queue()
        let first = try #require(try await queue.enqueue(creation()))
        let second = try #require(try await queue.enqueue(remark()))
        let third = try #require(try await queue.enqueue(call(.patch, "notes/1", ["remark": .string(Self.remark)])))
        await (try engine.replayer()).replay()
        #expect(try queue.job(first)?.state == .dead)
        #expect(try queue.job(second)?.reason == .creationFailed && queue.job(second)?.awaitedJobs == [first])
        #expect(try queue.job(third)?.reason == .awaitingID && queue.job(third)?.awaitedJobs == [second])
        await #expect(throws: ReplayError.self) { try await queue.release(second) }
        // A call that comes later is held, too.
        let fourth = try #require(try await queue.enqueue(call(.delete, "tasks/\(Self.task)/star", key: "star")))
        #expect(try queue.job(fourth)?.reason == .creationFailed)
        switch revival {
        case .redriven: try await queue.redrive(first)
        case .savedAgain: try await queue.enqueue(creation())
        case .neither:
            try await queue.discard(first)
            #expect(try queue.job(second)?.reason == .creationFailed)
            return await engine.close()
        }
        #expect(try [second, fourth].map { try queue.job($0)?.reason } == [.awaitingID, .awaitingID])
        await (try engine.replayer()).replay()
        let calls = arrived.withLock { $0 }
        #expect(calls.count == 5 && calls.contains(#"POST remarks {"task":8,"text":"b"}"#), "\(calls)")
        #expect(calls.contains("DELETE tasks/8/star"), "\(calls)")
        #expect(calls.contains { $0.hasPrefix(#"PATCH notes/1 {"remark":"#) }, "\(calls)")
        #expect(try queue.jobs(ReplayFilter(states: [.held])).isEmpty)
        await engine.close()
    }

    @Test func `a damaged creation that is discarded fails the calls that need its object`() async throws {
        let queue = try fixture.engine().queue()
        let first = try #require(try await queue.enqueue(creation()))
        let second = try #require(try await queue.enqueue(remark()))
        try queue.database.write { (connection) throws(SQLiteError) in
            try connection.execute("UPDATE job SET attempts = attempts + 1 WHERE id = \(first)")
        }
        try await queue.discard(first)
        #expect(try queue.job(first)?.state == .done)
        #expect(try queue.job(second)?.state == .held && queue.job(second)?.reason == .creationFailed)
    }

    @Test func `a creation that needs review keeps the calls that need its object waiting`() async throws {
        _ = serve([.stub(status: 503)])
        let engine = fixture.engine()
        let queue = try engine.queue()
        var request = creation()
        request.replay.keyLifetime = nil
        let first = try #require(try await queue.enqueue(request))
        let second = try #require(try await queue.enqueue(remark()))
        await (try engine.replayer()).replay()
        #expect(try queue.job(first)?.state == .needsReview && queue.job(second)?.reason == .awaitingID)
        try await queue.redrive(first)
        await (try engine.replayer()).replay()
        #expect(try queue.job(second)?.state == .done)
        await engine.close()
    }

    @Test func `a call that expired while it waited waits again when it is redriven`() async throws {
        _ = serve([.stub(status: 422)])
        let engine = fixture.engine()
        let queue = try engine.queue()
        let first = try #require(try await queue.enqueue(creation()))
        let second = try #require(try await queue.enqueue(remark()))
        await (try engine.replayer()).replay()
        fixture.clock.advance(by: .seconds(8 * 86_400))
        await (try engine.replayer()).replay()
        #expect(try queue.job(second)?.state == .dead && queue.job(second)?.reason == .expired)
        try await queue.redrive(second)
        #expect(try queue.job(second)?.reason == .creationFailed)
        try await queue.redrive(first)
        await (try engine.replayer()).replay()
        #expect(try queue.job(second)?.state == .done)
        await engine.close()
    }

    // MARK: Deletions

    @Test func `the deletion of an unsent object discards the unsent creations that need it, in one transaction`()
        async throws
    {
        let arrived = serve()
        let engine = fixture.engine()
        let queue = try engine.queue()
        let parent = try #require(try await queue.enqueue(creation()))
        let child = try #require(try await queue.enqueue(remark()))
        let grandchild = try #require(
            try await queue.enqueue(
                creation("local:96001A3D-0000-4000-8000-000000000003", of: "likes", ["remark": .string(Self.remark)])))
        // It changes an object that exists.
        let change = try #require(try await queue.enqueue(call(.patch, "notes/1", ["task": .string(Self.task)])))
        var deletion = call(.delete, "tasks/\(Self.task.urlSegment)", key: Self.task)
        deletion.replay.metadata["localID"] = .string(Self.task)
        #expect(try await queue.enqueue(deletion) == nil)
        #expect(try [parent, child, grandchild].map { try queue.job($0)?.state } == [.done, .done, .done])
        #expect(try queue.job(change)?.state == .dead && queue.job(change)?.reason == .creationFailed)
        #expect(try queue.jobsStoringAnswers().map(\.job.id) == [change])
        await (try engine.replayer()).replay()
        #expect(arrived.withLock { $0 } == [])
        // The object is gone, so no other call may refer to it.
        let error = await #expect(throws: ReplayError.self) { try await queue.enqueue(remark()) }
        #expect(error?.code == .missingObject)
        await engine.close()
    }

    // MARK: Refusals

    @Test func `a request that refers to an object that no job creates is refused`() async throws {
        let queue = try fixture.engine().queue()
        let error = await #expect(throws: ReplayError.self) { try await queue.enqueue(remark()) }
        #expect(error?.code == .missingObject && error?.message.contains(Self.task) == true)
        #expect(try queue.jobs().isEmpty)
    }

    @Test func `a creation that would wait for itself is refused with the jobs between`() async throws {
        let queue = try fixture.engine().queue()
        try await queue.enqueue(creation())
        try await queue.enqueue(remark())
        var change = call(.patch, "tasks/\(Self.task.urlSegment)", ["remark": .string(Self.remark)], key: Self.task)
        change.replay.metadata["localID"] = .string(Self.task)
        let error = await #expect(throws: ReplayError.self) { try await queue.enqueue(change) }
        #expect(error?.code == .waitsForItself)
        let message = error?.message ?? ""
        #expect(message.contains("POST http://api.test/tasks → POST http://api.test/remarks (job 2) → "), "\(message)")
        #expect(try queue.request(of: 1)?.body == .json(["title": "a"]))
        #expect(try queue.jobs().map(\.state) == [.ready, .held])
    }

    @Test func `an object's own local id does not enter its creation`() async throws {
        let queue = try fixture.engine().queue()
        try await queue.enqueue(creation())
        try await queue.enqueue(
            call(.patch, "tasks/\(Self.task.urlSegment)", ["root": .string(Self.task), "n": 1], key: Self.task))
        #expect(try queue.request(of: 1)?.body == .json(["title": "a", "root": .null, "n": 1]))
        #expect(try queue.job(1)?.state == .ready)
    }

    @Test func `an object's own local id stays in a creation that the app has sent it with`() async throws {
        let queue = try fixture.engine().queue()
        var first = creation(Self.task, of: "tasks", ["title": "a", "client": .string(Self.task)])
        first.replay.awaits = []
        try await queue.enqueue(first)
        try await queue.enqueue(call(.patch, "tasks/\(Self.task.urlSegment)", ["n": 1], key: Self.task))
        let request = try #require(try queue.request(of: 1))
        #expect(request.body == .json(["title": "a", "client": .string(Self.task), "n": 1]))
        #expect(try queue.job(1)?.state == .ready && request.replay.awaits.isEmpty)
    }

    // MARK: Merging

    @Test func `a later change decides for which objects a call waits`() async throws {
        let queue = try fixture.engine().queue()
        let other = "local:96001A3D-0000-4000-8000-000000000003"
        let first = try #require(try await queue.enqueue(creation()))
        let second = try #require(try await queue.enqueue(creation(other)))
        let change = try #require(
            try await queue.enqueue(call(.patch, "notes/1", ["task": .string(Self.task), "n": 1])))
        #expect(try queue.job(change)?.awaitedJobs == [first])
        #expect(try await queue.enqueue(call(.patch, "notes/1", ["task": .string(other)])) == change)
        #expect(try queue.job(change)?.awaitedJobs == [second])
        #expect(try await queue.enqueue(call(.patch, "notes/1", ["m": 1])) == change)
        #expect(try queue.job(change)?.awaitedJobs == [second])
        #expect(try await queue.enqueue(call(.patch, "notes/1", ["task": 5])) == change)
        #expect(try queue.job(change)?.state == .ready && queue.job(change)?.awaitedJobs == [])
        #expect(try queue.request(of: change)?.body == .json(["task": 5, "n": 1, "m": 1]))
    }

    /// What happens to a held call that needs an id.
    enum Course: CaseIterable { case released, identified, changed, discarded }

    @Test(arguments: Course.allCases)
    func `a held call that a later change makes wait for an id stays held until it is released`(
        _ course: Course
    ) async throws {
        let queue = try fixture.engine().queue()
        try await queue.enqueue(creation())
        let change = try #require(try await queue.enqueue(call(.patch, "notes/1", ["n": 1])))
        try await queue.apply(.hold, to: change)
        try await queue.enqueue(call(.patch, "notes/1", ["task": .string(Self.task)]))
        #expect(try queue.job(change)?.reason == .held)
        switch course {
        case .released:
            try await queue.apply(.release, to: change)
            #expect(try queue.job(change)?.reason == .awaitingID)
            try await queue.assign(7, to: Self.task)
        case .identified:
            try await queue.assign(7, to: Self.task)
            #expect(try queue.job(change)?.reason == .held)
            try await queue.apply(.release, to: change)
        case .changed:
            try await queue.enqueue(call(.patch, "notes/1", ["task": 7]))
            #expect(try queue.job(change)?.reason == .held)
            try await queue.apply(.release, to: change)
        case .discarded:
            try await queue.discardJobs(awaiting: Self.task)
            #expect(try queue.job(change)?.state == .dead)
            return
        }
        #expect(try queue.job(change)?.state == .ready)
        #expect(try queue.request(of: change)?.body == .json(["n": 1, "task": 7]))
    }

    @Test func `a call that needs two objects is sent when both have ids`() async throws {
        let arrived = serve()
        let engine = fixture.engine()
        let queue = try engine.queue()
        try await queue.enqueue(creation())
        try await queue.hold(.key(Self.remark))
        try await queue.enqueue(creation(Self.remark, of: "remarks"))
        let both = try #require(
            try await queue.enqueue(call(.post, "tasks/\(Self.task)/links", ["to": .string(Self.remark)])))
        await (try engine.replayer()).replay()
        #expect(try queue.job(both)?.url == "http://api.test/tasks/7/links")
        #expect(try queue.job(both)?.reason == .awaitingID && queue.job(both)?.awaitedJobs == [2])
        try await queue.release(.key(Self.remark))
        await (try engine.replayer()).replay()
        #expect(arrived.withLock { $0.last } == #"POST tasks/7/links {"to":8}"#)
        await engine.close()
    }

    // MARK: Storage

    @Test(arguments: [false, true])
    func `a sealed queue puts ids into requests, and has no local id in clear`(_ isSealedLater: Bool) async throws {
        let arrived = serve()
        let seal = try AESGCMSeal(key: Data(repeating: 1, count: 32), id: "a")
        let first = fixture.engine { $0.seal = isSealedLater ? nil : seal }
        try await first.queue().enqueue([creation(), remark()])
        await first.close()
        let engine = fixture.engine { $0.seal = seal }
        let queue = try engine.queue()
        #expect(try queue.job(2)?.awaitedJobs == [1])
        let names = try queue.read { (connection) throws(SQLiteError) in
            try connection.rows("SELECT name FROM edge UNION ALL SELECT creates FROM job") { $0.text(0) }
        }
        #expect(names.count == 3 && !names.contains { $0.contains("local") })
        await (try engine.replayer()).replay()
        #expect(arrived.withLock { $0.last } == #"POST remarks {"task":7,"text":"b"}"#)
        #expect(try queue.job(1)?.metadata["id"] == 7 && queue.job(2)?.metadata["localID"] == .string(Self.remark))
        await engine.close()
    }

    /// A newer program has written it.
    @Test func `a request that cannot be decoded fails when its id is known, and can be redriven`() async throws {
        _ = serve()
        let engine = fixture.engine()
        let queue = try engine.queue()
        try await queue.enqueue([creation(), remark()])
        try queue.database.write { (connection) throws(SQLiteError) in
            try connection.execute("UPDATE payload SET request = CAST('{\"version\": 9}' AS BLOB) WHERE job = 2")
            try ReplayTable.reseal(on: connection)
        }
        await (try engine.replayer()).replay()
        #expect(try queue.job(2)?.state == .dead && queue.job(2)?.reason == .undecodable)
        let written = try remark().json()
        let isIntact = try queue.database.write { (connection) throws(SQLiteError) in
            try connection.run("UPDATE payload SET request = \(written) WHERE job = 2")
            try ReplayTable.reseal(on: connection)
            return try ReplayTable.storedRow(2, on: connection)?.isIntact
        }
        #expect(isIntact == true)
        try await queue.redrive(2)
        #expect(try queue.request(of: 2)?.body == .json(["text": "b", "task": 7]))
        #expect(try queue.job(2)?.state == .ready)
        await engine.close()
    }

    @Test func `a creation stays on disk while calls need the id of its object`() async throws {
        _ = serve([.stub(status: 422)])
        let engine = fixture.engine()
        let queue = try engine.queue()
        let first = try #require(try await queue.enqueue(creation()))
        var request = remark()
        request.replay.expiry = nil
        let second = try #require(try await queue.enqueue(request))
        await (try engine.replayer()).replay()
        try await queue.consumeAnswers(of: [first])
        func forget() async throws {
            fixture.clock.advance(by: .seconds(400 * 86_400))
            _ = try await queue.writer.write { (connection, ledger) throws(SQLiteError) in
                try ReplayTable.deleteEnded(beyond: ReplayRetention(), on: connection, ledger: &ledger)
            }
        }
        try await forget()
        #expect(try queue.job(first) != nil)
        try await queue.discard(second)
        try await queue.consumeAnswers(of: [second])
        try await forget()
        #expect(try queue.job(first) == nil)
        await engine.close()
    }

    /// Version 3 stored only that a call waits, and its object in the metadata.
    @Test(arguments: [false, true])
    func `the waiting calls of an earlier version get their ids`(_ isSealed: Bool) async throws {
        let arrived = serve()
        let seal = isSealed ? try AESGCMSeal(key: Data(repeating: 1, count: 32), id: "a") : nil
        let old = fixture.engine { $0.seal = seal }
        var change = call(.patch, "tasks/\(Self.task.urlSegment)", ["n": 1], key: "apart")
        change.replay.metadata = creation().replay.metadata
        change.replay.metadata["call"] = "update"
        try await old.queue().enqueue([creation(paths: []), change])
        try await old.queue().writer.write { (connection, _) throws(SQLiteError) in
            try connection.execute("UPDATE job SET creates = NULL; DELETE FROM edge")
        }
        await old.close()
        let engine = fixture.engine { $0.seal = seal }
        let queue = try engine.queue()
        #expect(try queue.job(2)?.awaitedJobs == [1])
        await (try engine.replayer()).replay()
        #expect(try queue.job(2)?.reason == .awaitingID)
        try await queue.assign(7, to: Self.task)
        await (try engine.replayer()).replay()
        #expect(arrived.withLock { $0.last } == #"PATCH tasks/7 {"n":1}"#)
        await engine.close()
    }

    @Test func `the written form has what a request creates and waits for`() throws {
        for request in [creation(), remark()] { #expect(try Request(json: request.json()) == request) }
        let old = Data(
            #"{"url": "/", "replay": {"mode": "durable", "awaitsID": true, "metadata": {"localID": "local:1"}}}"#.utf8)
        #expect(try Request(json: old).replay.awaits == ["local:1"])
        #expect(throws: RequestError.self) {
            try Request(json: Data(#"{"url": "/", "replay": {"mode": "durable", "creates": {"paths": []}}}"#.utf8))
        }
    }
}
