import Diamond
import DiamondModel
import DiamondSQLite
import DiamondTestSupport
import Foundation
import HTTPTypes
import Testing

/// Saves that wait in the queue, through restarts of the program.
@ModelActor
@Suite("A queued save", .limit(minutes: 5)) struct QueuedSaveTests {
    private let api = QueuedAPI()

    private func newNote(_ program: QueuedAPI.Program) throws -> Note {
        let note = Note()
        try program.context.register(note)
        return note
    }

    private func storedNote(_ program: QueuedAPI.Program) async throws -> Note {
        let note = try newNote(program)
        try await note.save { $0.text = "milk" }
        return note
    }

    // MARK: With the network

    @Test func `is sent at once when the server is reachable, and leaves nothing in the queue`()
        async throws
    {
        let program = try api.start()
        let note = try newNote(program)
        try await note.save(.queued) { $0.text = "milk" }
        #expect(api.calls == [StubAPI.Call("POST", "notes", ["text": "milk", "stars": 0])])
        #expect(note.serverID == 7 && !note.isDirty && !note.hasQueuedSaves)
        try await note.save(.queued) { $0.stars = 2 }
        #expect(api.calls.last == StubAPI.Call("PATCH", "notes/7", ["stars": 2]))
        #expect(note.stars == 2 && !note.isDirty && !note.hasQueuedSaves)
        try await note.destroy(.queued)
        #expect(api.notes.isEmpty && !note.hasQueuedSaves)
        #expect(try program.waiting.isEmpty)
    }

    @Test func `a queued save that the server refuses throws, and leaves the object as it was`() async throws {
        let program = try api.start()
        let note = try await storedNote(program)
        api.answerOnce(StubAPI.Answer(422))
        let error = await #expect(throws: ConnectionError.self) { try await note.save(.queued) { $0.stars = 9 } }
        #expect(error?.response?.status.code == 422)
        #expect(note.stars == 0 && !note.isDirty && !note.hasQueuedSaves)
        #expect(try program.waiting.isEmpty)
        let saves = try await program.context.collectSaves(of: Note.self)
        #expect(saves.isEmpty)
    }

    @Test func `values that break a rule are not queued`() async throws {
        let program = try api.start()
        let note = try await storedNote(program)
        let error = await #expect(throws: ModelError.self) { try await note.save(.queued) { $0.text = "" } }
        #expect(error?.code == .invalid && note.text == "milk" && !note.hasQueuedSaves)
    }

    @Test func `a waiting change behind a queued save is rolled back if it breaks a rule`() async throws {
        let program = try api.start()
        let note = try await storedNote(program)
        api.isOnline = false
        var second: Task<Void, any Error>?
        try await note.save(.queued) { note in
            note.stars = 1
            // Runs while the first save is written to disk. No call is queued then.
            second = Task { try await note.save(.wait) { $0.text = "" } }
        }
        let error = await #expect(throws: ModelError.self) { try await second?.value }
        #expect(error?.code == .invalid && note.text == "milk" && note.stars == 1)
        #expect(note.dirtyProperties.map(\.key) == ["stars"] && note.hasQueuedSaves)
    }

    @Test func `an object without a context is not queued`() async throws {
        let note = Note()
        let error = await #expect(throws: ModelError.self) { try await note.save(.queued) { $0.text = "milk" } }
        #expect(error?.code == .noEngine && note.text == "")
    }

    // MARK: Without the network

    @Test func `saves without a network become one call, which is sent when the network is back`() async throws {
        let program = try api.start()
        api.isOnline = false
        let note = try newNote(program)
        try await note.save(.queued) { $0.text = "milk" }
        try await note.save(.queued) { $0.stars = 2 }
        try await note.save { $0.text = "bread" }
        #expect(note.isNew && note.hasQueuedSaves && note.text == "bread")
        api.isOnline = true
        try await program.replay()
        let saves = try await program.context.collectSaves(of: Note.self)
        #expect(api.calls == [StubAPI.Call("POST", "notes", ["text": "bread", "stars": 2])])
        #expect(saves.count == 1 && saves[0].model === note && saves[0].failure == nil && saves[0].serverID == 7)
        #expect(note.serverID == 7 && !note.isDirty && !note.hasQueuedSaves)
        #expect(program.context.existing(Note.self, id: 7) === note)
    }

    @Test func `an object that is deleted before it was sent is never sent`() async throws {
        let program = try api.start()
        api.isOnline = false
        let list = ModelCollection<Note>(context: program.context)
        let note = Note()
        note.text = "milk"
        try await list.create(note, .queued)
        #expect(list.count == 1 && note.hasQueuedSaves)
        try await note.destroy(.queued)
        #expect(list.isEmpty && !note.hasQueuedSaves)
        api.isOnline = true
        try await program.replay()
        #expect(api.calls.isEmpty)
        #expect(try program.queue.counts().filter { $0.value > 0 } == [.done: 1])
        let saves = try await program.context.collectSaves(of: Note.self)
        #expect(saves.isEmpty)
    }

    @Test func `a value that is set while a save is queued stays dirty, and is sent by the next save`() async throws {
        let program = try api.start()
        let note = try await storedNote(program)
        api.isOnline = false
        try await note.save(.queued) { $0.stars = 1 }
        note.stars = 2
        api.isOnline = true
        try await program.replay()
        try await program.context.collectSaves(of: Note.self)
        #expect(note.stars == 2 && note.isDirty)
        #expect(api.calls.last == StubAPI.Call("PATCH", "notes/7", ["stars": 1]))
        try await note.save(.queued)
        #expect(api.calls.last == StubAPI.Call("PATCH", "notes/7", ["stars": 2]) && !note.isDirty)
    }

    @Test(arguments: [false, true])
    func `a change after the call that creates the object waits for the server's id`(_ isDeletion: Bool) async throws {
        let program = try api.start()
        let note = try newNote(program)
        let checkpoint = Checkpoint()
        api.waitOnce {
            await checkpoint.pass()
        }
        let first = Task { try await note.save(.queued) { $0.text = "milk" } }
        await checkpoint.reached()
        if isDeletion {
            try await note.destroy(.queued)
        } else {
            try await note.save(.queued) { $0.text = "bread" }
            try await note.save(.queued) { $0.stars = 3 }
        }
        let waiting = try program.queue.jobs(ReplayFilter(states: [.held]))
        #expect(waiting.map(\.reason) == [.awaitingID])
        await #expect(throws: ReplayError.self) { try await program.queue.release(waiting[0].id) }
        checkpoint.open()
        try await first.value
        #expect(note.serverID == 7)
        try await program.replay()
        try await program.context.collectSaves(of: Note.self)
        #expect(
            api.calls.last
                == (isDeletion
                    ? StubAPI.Call("DELETE", "notes/7")
                    : StubAPI.Call("PATCH", "notes/7", ["text": "bread", "stars": 3])))
        #expect(!note.hasQueuedSaves && (isDeletion || !note.isDirty))
        #expect(api.notes[7] == (isDeletion ? nil : ["id": 7, "text": "bread", "stars": 3]))
    }

    @Test func `a queued call that the server refuses keeps the changes, and reports the error`() async throws {
        let program = try api.start()
        let note = try await storedNote(program)
        api.isOnline = false
        try await note.save(.queued) { $0.stars = 9 }
        api.isOnline = true
        api.answerOnce(StubAPI.Answer(422))
        try await program.replay()
        let saves = try await program.context.collectSaves(of: Note.self)
        #expect((saves.first?.failure as? ConnectionError)?.response?.status.code == 422)
        #expect(note.stars == 9 && note.isDirty && !note.hasQueuedSaves)
        try await note.save(.queued)
        #expect(api.notes[7] == ["id": 7, "text": "milk", "stars": 9])
    }

    /// A problem with the errors of fields (RFC 9457 section 3).
    private static let problem = StubAPI.Answer(
        422,
        [
            "title": "Your request is not valid.", "detail": "There are at most five stars.",
            "errors": [["pointer": "#/stars", "detail": "at most 5"]],
        ],
        headers: [
            .contentType: "application/problem+json", .contentLanguage: "en", .retryAfter: "60", .setCookie: "a=b",
        ])

    @Test(arguments: ["this program", "a later run", "another process"])
    func `a queued save that is refused later reports the problem as a direct save does`(_ replayer: String)
        async throws
    {
        var program = try api.start()
        let note = try await storedNote(program)
        api.answerOnce(Self.problem)
        let direct = await #expect(throws: ConnectionError.self) { try await note.save { $0.stars = 9 } }
        api.isOnline = false
        try await note.save(.queued) { $0.stars = 9 }
        api.isOnline = true
        api.answerOnce(Self.problem)
        switch replayer {
        case "another process":
            let other = try api.start()
            try await other.replay()
            await other.engine.close()
        case "a later run":
            await program.engine.close()
            program = try api.start()
            try await program.replay()
        default: try await program.replay()
        }
        let save = try #require(try await program.context.collectSaves(of: Note.self).first)
        let failure = try #require(save.failure as? ConnectionError)
        #expect(failure.problem == direct?.problem && failure.problem?.detail == "There are at most five stars.")
        #expect(failure.problem?.extensions["errors"] == [["pointer": "#/stars", "detail": "at most 5"]])
        #expect(failure.message == direct?.message)
        #expect(failure.response?.headers[.retryAfter] == "60" && failure.response?.headers[.contentLanguage] == "en")
        // No cookie is stored.
        #expect(failure.response?.headers[.setCookie] == nil)
    }

    @Test func `the refusal of a new object removes the calls that wait for its id, and keeps their changes`()
        async throws
    {
        let program = try api.start()
        let note = try newNote(program)
        let checkpoint = Checkpoint()
        api.waitOnce {
            await checkpoint.pass()
        }
        api.answerOnce(StubAPI.Answer(422))
        let first = Task { try await note.save(.queued) { $0.text = "milk" } }
        await checkpoint.reached()
        note.stars = 3
        try await note.save(.queued)
        checkpoint.open()
        do {
            try await first.value
            Issue.record("the save is refused")
        } catch {
            #expect((error as? ConnectionError)?.response?.status.code == 422)
        }
        try await program.context.collectSaves(of: Note.self)
        #expect(note.isNew && note.stars == 3)
        try await note.save(.queued) { $0.text = "bread" }
        #expect(api.notes[7] == ["id": 7, "text": "bread", "stars": 3])
        #expect(try program.queue.counts().filter { $0.value > 0 && !$0.key.isEnd }.isEmpty)
    }

    @Test func `a deletion that the server refuses later restores the object's position`() async throws {
        let program = try api.start()
        let list = ModelCollection<Note>()
        for text in ["a", "b", "c"] {
            let note = try newNote(program)
            try await note.save { $0.text = text }
            try list.append(note)
        }
        let note = list[1]
        api.isOnline = false
        try await note.destroy(.queued)
        #expect(list.map(\.text) == ["a", "c"] && note.hasQueuedSaves)
        api.isOnline = true
        api.answerOnce(StubAPI.Answer(403))
        try await program.replay()
        let saves = try await program.context.collectSaves(of: Note.self)
        #expect(saves.first?.failure != nil)
        #expect(list.map(\.text) == ["a", "b", "c"] && list[1] === note)
    }

    @Test func `a queued change that a later save reverts is reverted on the server`() async throws {
        let program = try api.start()
        let note = try await storedNote(program)
        api.isOnline = false
        try await note.save(.queued) { $0.stars = 1 }
        try await note.save(.queued) { $0.stars = 0 }
        let new = try newNote(program)
        try await new.save(.queued) { ($0.text, $0.stars) = ("bread", 2) }
        try await new.save(.queued) { $0.stars = 0 }
        api.isOnline = true
        try await program.drain(Note.self)
        #expect(api.notes[7]?["stars"] == 0 && api.notes[8] == ["id": 8, "text": "bread", "stars": 0])
        #expect(!note.isDirty && !new.isDirty)
    }

    @Test func `a save after a refusal that was not collected creates the object, and the refusal is reported`()
        async throws
    {
        let program = try api.start()
        let note = try newNote(program)
        api.isOnline = false
        try await note.save(.queued) { $0.text = "milk" }
        api.isOnline = true
        api.answerOnce(StubAPI.Answer(422))
        try await program.replay()
        try await note.save(.queued) { $0.text = "bread" }
        #expect(api.notes[7]?["text"] == "bread" && note.serverID == 7)
        let saves = try await program.context.collectSaves(of: Note.self)
        #expect(saves.count == 1 && saves.first?.failure != nil && saves.first?.changes?["text"] == "milk")
    }

    @Test func `overlapping saves of a new object create it once, whatever their modes`() async throws {
        let program = try api.start()
        let note = try newNote(program)
        let gate = Gate()
        api.waitOnce { await gate.wait() }
        let modes = [SaveMode.queued, .queued, .optimistic, .wait, .queued]
        let saves = modes.enumerated().map { index, mode in
            Task { try await note.save(mode) { ($0.text, $0.stars) = ("milk", index) } }
        }
        await untilTrue { (try? program.waiting.count) == 2 }
        gate.open()
        for save in saves { try await save.value }
        try await program.drain(Note.self)
        #expect(api.notes.count == 1 && api.notes[7]?["stars"] == JSONValue(note.stars))
        #expect(!note.isDirty && !note.hasQueuedSaves)
    }

    @Test func `a deletion that overlaps the save of a new object leaves nothing on the server`() async throws {
        let program = try api.start()
        let note = try newNote(program)
        let gate = Gate()
        api.waitOnce { await gate.wait() }
        let save = Task { try await note.save(.queued) { $0.text = "milk" } }
        let destroy = Task { try await note.destroy() }
        await untilTrue { (try? program.waiting.count) == 2 }
        gate.open()
        try await save.value
        try await destroy.value
        try await program.drain(Note.self)
        #expect(api.notes.isEmpty && api.calls.map(\.method) == ["POST", "DELETE"])
    }

    @Test func `a program that cannot record a save still has the save in the queue`() async throws {
        struct DiskFull: Error {}
        let program = try api.start()
        let note = try newNote(program)
        program.context.recordSaves = { _ in throw DiskFull() }
        try await note.save(.queued) { $0.text = "milk" }
        #expect(note.text == "milk" && note.serverID == 7 && note.hasQueuedSaves)
        program.context.recordSaves = nil
        #expect(try await program.context.collectSaves(of: Note.self).map(\.jobID).count == 1)
        #expect(!note.hasQueuedSaves)
    }

    @Test func `a synced list does not restore an object whose deletion is queued`() async throws {
        let program = try api.start()
        let list = ModelCollection<Note>(context: program.context)
        let note = Note()
        note.text = "milk"
        try await list.create(note)
        api.isOnline = false
        try await note.save(.queued) { $0.stars = 1 }
        list.delete(note)
        try await list.upload()
        #expect(note.hasQueuedSaves && !list.undelete(note))
        try list.upsert([["id": 7, "text": "milk"]])
        api.isOnline = true
        try await program.drain(Note.self)
        #expect(api.notes.isEmpty && list.deleted.isEmpty)
    }

    @Test func `a queued write of the whole object includes later changes`() async throws {
        let program = try api.start()
        let note = try await storedNote(program)
        api.isOnline = false
        try await note.save(.queued, as: .replace) { $0.stars = 1 }
        try await note.save(.queued) { $0.text = "bread" }
        try await note.save(.queued, as: .replace) { $0.stars = 2 }
        api.isOnline = true
        try await program.drain(Note.self)
        #expect(api.calls.dropFirst().map(\.method) == ["PUT"] && !note.isDirty)
        #expect(api.notes[7] == ["id": 7, "text": "bread", "stars": 2])
    }

    // MARK: In the background

    @Test func `a save in the background returns when it is on disk, and its answer is collected`() async throws {
        let program = try api.start()
        let list = ModelCollection<Note>(context: program.context)
        let note = Note()
        note.text = "milk"
        let checkpoint = Checkpoint()
        api.waitOnce {
            await checkpoint.pass()
        }
        try await list.create(note, .queuedInBackground)
        #expect(note.isNew && note.hasQueuedSaves && list.count == 1)
        await checkpoint.reached()
        checkpoint.open()
        _ = try await program.queue.end(of: try #require(try program.waiting.first).id)
        let saves = try await program.context.collectSaves(of: Note.self)
        #expect(saves.map(\.serverID) == [7] && note.serverID == 7 && !note.hasQueuedSaves)
        api.answerOnce(StubAPI.Answer(422))
        try await note.save(.queuedInBackground) { $0.stars = 9 }
        _ = try await program.queue.end(of: try #require(try program.waiting.first).id)
        let refused = try await program.context.collectSaves(of: Note.self)
        #expect(refused.count == 1 && refused.first?.failure != nil && note.stars == 9 && note.isDirty)
    }

    // MARK: Review

    @Test func `a call that needs review is reported once, stays a job of its object, and is applied after it`()
        async throws
    {
        let program = try api.start()
        let memo = Memo()
        try program.context.register(memo)
        api.isOnline = false
        try await memo.save(.queued) { $0.text = "milk" }
        #expect(try await memo.queuedJobs().map(\.state) == [.waiting])
        api.isOnline = true
        api.answerOnce(StubAPI.Answer(503))
        try await program.replay()
        #expect(try await memo.queuedJobs().map(\.state) == [.needsReview])
        let saves = try await program.context.collectSaves(of: Memo.self)
        let job = try #require(try await memo.queuedJobs().first)
        #expect(saves.count == 1 && saves.first?.jobID == job.id && saves.first?.model === memo)
        // The app's own metadata is kept, and is not read as an id.
        #expect(job.metadata["screen"] == "memos" && saves.first?.serverID == nil)
        #expect((saves.first?.failure as? ModelError)?.code == .needsReview && saves.first?.changes?["text"] == "milk")
        #expect(try await program.context.collectSaves(of: Memo.self).isEmpty)
        api.setWallClock(by: 86_400)
        #expect(try await program.context.collectSaves(of: Memo.self).isEmpty)
        #expect(memo.hasQueuedSaves && memo.text == "milk")
        try await program.queue.redrive(job.id)
        try await program.drain(Memo.self)
        #expect(memo.serverID == 7 && !memo.isDirty && api.notes[7]?["text"] == "milk")
        #expect(try await memo.queuedJobs().isEmpty && !memo.hasQueuedSaves)
    }

    // MARK: Others

    @Test func `the queued calls of one user are neither shown to nor collected for another user`() async throws {
        let anna = try api.start(as: "anna")
        api.isOnline = false
        let note = try newNote(anna)
        try await note.save(.queued) { $0.text = "Anna's" }
        api.isOnline = true
        try await anna.replay()
        api.isOnline = false
        let other = try newNote(anna)
        try await other.save(.queued) { $0.text = "Anna's, too" }
        await anna.engine.close()
        let ben = try api.start(as: "ben")
        #expect(try await ben.context.queuedModels(Note.self).isEmpty)
        let own = try newNote(ben)
        try await own.save(.queued) { $0.text = "Ben's" }
        #expect(Set(try ben.waiting.map(\.orderingKey)).count == 3)
        api.isOnline = true
        try await ben.replay()
        try await ben.context.collectSaves(of: Note.self)
        #expect(own.serverID != nil && !own.hasQueuedSaves)
        // One job has its response, and one is held until Anna signs in again.
        #expect(try ben.waiting.map(\.identity) == ["anna", "anna"])
    }

    @Test func `an object whose response another context has collected is not created again`() async throws {
        let app = try api.start()
        api.isOnline = false
        let note = try newNote(app)
        try await note.save(.queued) { $0.text = "milk" }
        api.isOnline = true
        let other = try api.start()
        try await other.replay()
        let saves = try await other.context.collectSaves(of: Note.self)
        #expect(saves.count == 1)
        try await note.save(.queued) { $0.text = "bread" }
        try await app.drain(Note.self)
        #expect(note.serverID == 7 && api.notes == [7: ["id": 7, "text": "bread", "stars": 0]])
    }

    @Test func `objects of two lists with the same id are two objects in the queue`() async throws {
        let program = try api.start()
        var lists: [ModelCollection<QueuedItem>] = []
        for user in 1...2 {
            let context = ModelContext(engine: program.engine)
            let list = ModelCollection<QueuedItem>(context: context)
            list.source = PageSource(program.engine, Request("users/\(user)/items"))
            try list.upsert([["id": 7, "name": "a"]])
            lists.append(list)
        }
        api.isOnline = false
        try await lists[0][0].save(.queued) { $0.name = "b" }
        try await lists[1][0].save(.queued) { $0.name = "c" }
        #expect(try program.waiting.map(\.orderingKey).count == 2)
        #expect(try program.waiting.map { $0.metadata["list"] } == ["users/1/items", "users/2/items"])
    }

    @Test func `a server that honors no idempotency key receives none`() async throws {
        let program = try api.start()
        let context = ModelContext(engine: program.engine)
        let item = Keyless()
        try context.register(item)
        api.isOnline = false
        try await item.save(.queued) { $0.name = "a" }
        #expect(try program.waiting.map(\.idempotencyKey) == [nil])
    }

    // MARK: Restarts

    @Test func `another run of the program restores the queued objects and their answers`() async throws {
        var program = try api.start()
        let stored = try await storedNote(program)
        api.isOnline = false
        try await stored.save(.queued) { $0.stars = 4 }
        let new = try newNote(program)
        try await new.save(.queued) { $0.text = "bread" }
        let localID = new.localID
        await program.engine.close()

        program = try api.start()
        let loaded = try program.context.model(Note.self, from: ["id": 7, "text": "milk", "stars": 0])
        let waiting = try await program.context.queuedModels(Note.self)
        #expect(waiting.map(\.modelID) == [7, localID] && waiting[0] === loaded)
        #expect(loaded.stars == 4 && loaded.isDirty && loaded.hasQueuedSaves)
        #expect(waiting[1].text == "bread" && waiting[1].isNew && waiting[1].hasQueuedSaves)
        try await waiting[1].save(.queued) { $0.stars = 1 }
        api.isOnline = true
        try await program.replay()
        let saves = try await program.context.collectSaves(of: Note.self)
        #expect(saves.map(\.serverID) == [7, 8] && saves.map(\.localID) == [nil, localID])
        #expect(loaded.stars == 4 && !loaded.isDirty)
        #expect(waiting[1].serverID == 8 && !waiting[1].isDirty)
        #expect(api.notes[8] == ["id": 8, "text": "bread", "stars": 1])
    }

    @Test func `an answer stays in the queue until the program has recorded it`() async throws {
        struct DiskFull: Error {}
        var program = try api.start()
        api.isOnline = false
        let note = try newNote(program)
        try await note.save(.queued) { $0.text = "milk" }
        api.isOnline = true
        try await program.replay()
        program.context.recordSaves = { _ in throw DiskFull() }
        await #expect(throws: DiskFull.self) { _ = try await program.context.collectSaves(of: Note.self).count }
        await program.engine.close()

        // The new run has no record of the object.
        program = try api.start()
        var recorded: [[ModelID?]] = []
        program.context.recordSaves = { saves in recorded += saves.map { [$0.localID, $0.serverID, $0.model?.modelID] }
        }
        let saves = try await program.context.collectSaves(of: Note.self)
        #expect(saves.count == 1 && recorded == [[note.localID, 7, 7]])
        let later = try await program.context.collectSaves(of: Note.self)
        #expect(later.isEmpty)
        #expect(api.calls.count == 1)
    }

    @Test func `calls from before the server assigned the id are sent before later calls`() async throws {
        var program = try api.start()
        let note = try newNote(program)
        let checkpoint = Checkpoint()
        api.waitOnce {
            await checkpoint.pass()
        }
        let first = Task { try await note.save(.queued) { $0.text = "milk" } }
        await checkpoint.reached()
        try await note.save(.queued) { $0.stars = 1 }
        api.isOnline = false
        checkpoint.open()
        try await first.value
        await program.engine.close()

        program = try api.start()
        let loaded = try program.context.model(Note.self, from: ["id": 7, "text": "milk", "stars": 0])
        try await loaded.save(.queued) { $0.stars = 2 }
        #expect(Set(try program.waiting.map(\.orderingKey)).count == 1)
        api.isOnline = true
        try await program.drain(Note.self)
        #expect(api.notes[7] == ["id": 7, "text": "milk", "stars": 2] && !loaded.isDirty)
    }

    @Test func `a response that is older than a load does not overwrite the loaded values`() async throws {
        let program = try api.start()
        let note = try await storedNote(program)
        api.isOnline = false
        try await note.save(.queued) { $0.stars = 1 }
        api.isOnline = true
        try await program.replay()
        api.advance(by: .seconds(1))
        _ = try program.context.model(Note.self, from: ["id": 7, "text": "newer", "stars": 1])
        try await program.context.collectSaves(of: Note.self)
        #expect(note.text == "newer" && note.stars == 1 && !note.isDirty && !note.hasQueuedSaves)
    }

    @Test(arguments: [0, 1])
    func `the last of two answers determines the values, however late both are collected`(_ seconds: Int) async throws {
        let program = try api.start()
        let note = try await storedNote(program)
        api.isOnline = false
        try await note.save(.queued) { $0.text = "first" }
        api.isOnline = true
        // The first call has been sent, so the second one is not merged with it.
        api.answerOnce(StubAPI.Answer(500))
        try await program.replay()
        try await note.save(.queued, as: .replace) { $0.text = "second" }
        try await program.replay()
        #expect(api.calls.map(\.method) == ["POST", "PATCH", "PATCH", "PUT"])
        api.advance(by: .seconds(seconds))
        #expect(try await program.context.collectSaves(of: Note.self).count == 2)
        #expect(note.text == "second" && !note.isDirty && !note.hasQueuedSaves)
        #expect(api.notes[7]?["text"] == "second")
    }

    @Test func `a newer value from the server is not an unsaved change`() async throws {
        let program = try api.start()
        let note = try await storedNote(program)
        api.isOnline = false
        try await note.save(.queued) { $0.stars = 1 }
        api.isOnline = true
        try await program.replay()
        try note.merge(["stars": 5])
        try await program.context.collectSaves(of: Note.self)
        #expect(note.stars == 1 || note.stars == 5)
        #expect(!note.isDirty)
    }
}

private class QueuedItem: Model {
    static let name = Property(\QueuedItem.name, "name")

    private var _name = ""

    var name: String {
        get { read(QueuedItem.name, from: _name) }
        set { write(QueuedItem.name, from: _name, to: newValue) { _name = $0 } }
    }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _name = visitor.visit(QueuedItem.name, with: _name)
    }
}

private final class Keyless: QueuedItem {
    override class var resource: Request? {
        var request = Request("keyless")
        request.replay.keyLifetime = nil
        return request
    }
}
