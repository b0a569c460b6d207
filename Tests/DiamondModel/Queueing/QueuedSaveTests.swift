import Diamond
import DiamondModel
import DiamondSQLite
import DiamondTestSupport
import Foundation
import HTTPTypes
import Testing

/// Saves that wait in the queue, through restarts of the program.
@ModelActor
@Suite(.timeLimit(.minutes(1))) struct QueuedSaveTests {
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

    @Test func `A queued save is sent at once where it can be, and leaves nothing in the queue`() async throws {
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
        #expect(try program.queue.jobsKeepingAnswers().isEmpty)
    }

    @Test func `A queued save that the server refuses throws, and leaves the object as it was`() async throws {
        let program = try api.start()
        let note = try await storedNote(program)
        api.answerOnce(StubAPI.Answer(422))
        let error = await #expect(throws: ConnectionError.self) { try await note.save(.queued) { $0.stars = 9 } }
        #expect(error?.response?.status.code == 422)
        #expect(note.stars == 0 && !note.isDirty && !note.hasQueuedSaves)
        #expect(try program.queue.jobsKeepingAnswers().isEmpty)
        let saves = try await program.context.collectSaves(of: Note.self)
        #expect(saves.isEmpty)
    }

    @Test func `Values that break a rule are not queued`() async throws {
        let program = try api.start()
        let note = try await storedNote(program)
        let error = await #expect(throws: ModelError.self) { try await note.save(.queued) { $0.text = "" } }
        #expect(error?.code == .invalid && note.text == "milk" && !note.hasQueuedSaves)
    }

    @Test func `An object of no context is not queued`() async throws {
        let note = Note()
        let error = await #expect(throws: ModelError.self) { try await note.save(.queued) { $0.text = "milk" } }
        #expect(error?.code == .noEngine && note.text == "")
    }

    // MARK: Without the network

    @Test func `Saves without a network become one call, which is sent when it is back`() async throws {
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

    @Test func `An object that is deleted before it was sent is never sent`() async throws {
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

    @Test func `What is set while the call is under way stays dirty, and is sent after it`() async throws {
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
    func `A change behind the call that makes the object waits for the server's id`(_ isDeletion: Bool) async throws {
        let program = try api.start()
        let note = try newNote(program)
        let (asked, gate) = (Gate(), Gate())
        api.waitOnce {
            asked.open()
            await gate.wait()
        }
        let first = Task { try await note.save(.queued) { $0.text = "milk" } }
        await asked.wait()
        if isDeletion {
            try await note.destroy(.queued)
        } else {
            try await note.save(.queued) { $0.text = "bread" }
            try await note.save(.queued) { $0.stars = 3 }
        }
        let waiting = try program.queue.jobs(ReplayFilter(state: .held))
        #expect(waiting.map(\.reason) == [.awaitingID])
        await #expect(throws: ReplayError.self) { try await program.queue.release(waiting[0].id) }
        gate.open()
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

    @Test func `A call that the server refuses later keeps the changes, and says why`() async throws {
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

    @Test func `A new object that the server refuses later takes back what waited for its id`() async throws {
        let program = try api.start()
        let note = try newNote(program)
        let (asked, gate) = (Gate(), Gate())
        api.waitOnce {
            asked.open()
            await gate.wait()
        }
        api.answerOnce(StubAPI.Answer(422))
        let first = Task { try await note.save(.queued) { $0.text = "milk" } }
        await asked.wait()
        note.stars = 3
        try await note.save(.queued)
        gate.open()
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

    @Test func `A deletion that the server refuses later puts the object back into its place`() async throws {
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

    // MARK: Restarts

    @Test func `Another run of the program gets the objects back that wait, and their answers`() async throws {
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
        let waiting = try program.context.queuedModels(Note.self)
        #expect(waiting.map(\.modelID) == [7, localID] && waiting[0] === loaded)
        #expect(loaded.stars == 4 && loaded.isDirty && loaded.hasQueuedSaves)
        #expect(waiting[1].text == "bread" && waiting[1].isNew && waiting[1].hasQueuedSaves)
        try await waiting[1].save(.queued) { $0.stars = 1 }
        api.isOnline = true
        try await program.replay()
        let saves = try await program.context.collectSaves(of: Note.self)
        #expect(saves.map(\.serverID) == [7, 8] && saves.map(\.localID) == [stored.localID, localID])
        #expect(loaded.stars == 4 && !loaded.isDirty)
        #expect(waiting[1].serverID == 8 && !waiting[1].isDirty)
        #expect(api.notes[8] == ["id": 8, "text": "bread", "stars": 1])
    }

    @Test func `An answer stays in the queue until the program has recorded it`() async throws {
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

        // It has no record of the object.
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

    @Test func `Calls from before the server gave the id go before those from after it`() async throws {
        var program = try api.start()
        let note = try newNote(program)
        let (asked, gate) = (Gate(), Gate())
        api.waitOnce {
            asked.open()
            await gate.wait()
        }
        let first = Task { try await note.save(.queued) { $0.text = "milk" } }
        await asked.wait()
        try await note.save(.queued) { $0.stars = 1 }
        api.isOnline = false
        gate.open()
        try await first.value
        await program.engine.close()

        program = try api.start()
        let loaded = try program.context.model(Note.self, from: ["id": 7, "text": "milk", "stars": 0])
        try await loaded.save(.queued) { $0.stars = 2 }
        let jobs = try program.queue.jobsKeepingAnswers()
        #expect(Set(jobs.map(\.orderingKey)).count == 1)
        api.isOnline = true
        while try !program.queue.jobsKeepingAnswers().isEmpty {
            try await program.replay()
            try await program.context.collectSaves(of: Note.self)
        }
        #expect(api.notes[7] == ["id": 7, "text": "milk", "stars": 2] && !loaded.isDirty)
    }

    @Test func `An answer that is older than what was loaded does not overwrite it`() async throws {
        let program = try api.start()
        let note = try await storedNote(program)
        api.isOnline = false
        try await note.save(.queued) { $0.stars = 1 }
        api.isOnline = true
        try await program.replay()
        api.answerOnce(StubAPI.Answer(200, ["id": 7, "text": "newer", "stars": 1]))
        try await note.load(policy: .reload)
        try await program.context.collectSaves(of: Note.self)
        #expect(note.text == "newer" && note.stars == 1 && !note.isDirty)
    }
}
