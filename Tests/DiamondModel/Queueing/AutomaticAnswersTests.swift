import Diamond
import DiamondModel
import DiamondTestSupport
import Testing

/// Contexts of an engine that sends the jobs of its queue itself.
@ModelActor
@Suite("Answers that a context applies by itself", .limit(minutes: 5)) struct AutomaticAnswersTests {
    private let api = QueuedAPI()

    /// A note with a change that waits, in a program whose network is back.
    private func waitingNote(_ program: QueuedAPI.Program) async throws -> Note {
        let note = Note()
        try program.context.register(note)
        try await note.save { $0.text = "milk" }
        api.isOnline = false
        try await note.save(.queued) { $0.stars = 4 }
        #expect(note.hasQueuedSaves && note.isDirty)
        return note
    }

    private func sendWaiting(_ program: QueuedAPI.Program) async throws {
        api.isOnline = true
        for job in try program.queue.jobs(ReplayFilter(states: [.waiting])) { try await program.queue.retry(job.id) }
    }

    @Test func `a context applies the answers by itself`() async throws {
        let program = try api.start(replaying: .automatically)
        var recorded: [ModelID?] = []
        program.context.recordSaves = { recorded += $0.map(\.serverID) }
        let note = try await waitingNote(program)
        try await sendWaiting(program)
        await untilTrue { !note.hasQueuedSaves }
        #expect(!note.isDirty && note.stars == 4 && api.notes[7]?["stars"] == 4 && recorded == [7])
        #expect(try await program.context.collectSaves(of: Note.self).isEmpty)
    }

    @Test func `a context shows a refusal by itself, and returns it once`() async throws {
        let program = try api.start(replaying: .automatically)
        let note = try await waitingNote(program)
        api.answerOnce(StubAPI.Answer(422))
        try await sendWaiting(program)
        await untilTrue { !note.hasQueuedSaves }
        #expect(note.isDirty && note.stars == 4)
        guard case .failed(let error) = note.saveState else {
            Issue.record("the state is \(note.saveState)")
            return
        }
        #expect((error as? ConnectionError)?.response?.status.code == 422)
        #expect(try await program.context.collectSaves(of: Note.self).map { $0.failure != nil } == [true])
        #expect(try await program.context.collectSaves(of: Note.self).isEmpty)
    }

    @Test(arguments: [SaveMode.queued, .queuedInBackground])
    func `a new object gets its id from an answer, and later changes follow`(_ mode: SaveMode) async throws {
        let program = try api.start(replaying: .automatically)
        let note = Note()
        try program.context.register(note)
        api.isOnline = false
        try await note.save(mode) { $0.text = "milk" }
        await untilTrue { (try? program.queue.jobs(ReplayFilter(states: [.waiting])).count) == 1 }
        try await sendWaiting(program)
        await untilTrue { !note.hasQueuedSaves }
        #expect(note.serverID == 7 && !note.isDirty)
        try await note.save(mode) { $0.stars = 1 }
        await untilTrue { !note.hasQueuedSaves }
        #expect(api.notes[7] == ["id": 7, "text": "milk", "stars": 1])
    }

    @Test func `a queued save that is refused at once throws, and is no failure of its object`() async throws {
        let program = try api.start(replaying: .automatically)
        let note = Note()
        try program.context.register(note)
        try await note.save { $0.text = "milk" }
        api.answerOnce(StubAPI.Answer(422))
        await #expect(throws: ConnectionError.self) { try await note.save(.queued) { $0.stars = 9 } }
        #expect(note.stars == 0 && !note.isDirty && !note.hasQueuedSaves)
        guard case .saved = note.saveState else {
            Issue.record("the state is \(note.saveState)")
            return
        }
        #expect(try await program.context.collectSaves(of: Note.self).isEmpty)
    }

    @Test func `a released context is not retained by its queue`() async throws {
        let program = try api.start(replaying: .automatically)
        weak var released: ModelContext?
        do {
            let context = ModelContext(engine: program.engine)
            let note = Note()
            try context.register(note)
            try await note.save(.queued) { $0.text = "milk" }
            released = context
        }
        await untilTrue { released == nil }
        #expect(released == nil)
    }
}
