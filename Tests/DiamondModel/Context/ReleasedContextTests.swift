import Diamond
import DiamondModel
import Testing

/// Models whose context was released: nothing is loaded or saved without it.
@ModelActor
@Suite("A model whose context was released") struct ReleasedContextTests {
    private let api = StubAPI { _ in StubAPI.Answer(200, ["id": 1, "text": "new", "stars": 1]) }

    private func orphan() throws -> Note {
        try ModelContext(engine: api.engine).model(from: ["id": 1, "text": "old", "stars": 1])
    }

    @Test(arguments: ["load", "loadIfNeeded", "save", "wait", "queued", "destroy", "invalidate", "queuedJobs"])
    func `a call of a model whose context was released says so, and sends nothing`(name: String) async throws {
        let note = try orphan()
        #expect(!note.isLoaded)
        let error = await #expect(throws: ModelError.self) {
            switch name {
            case "load": try await note.load()
            case "loadIfNeeded": try await note.loadIfNeeded()
            case "save": try await note.save { $0.text = "b" }
            case "wait": try await note.save(.wait) { $0.text = "b" }
            case "queued": try await note.save(.queued) { $0.text = "b" }
            case "destroy": try await note.destroy()
            case "invalidate": try await note.invalidate()
            default: _ = try await note.queuedJobs()
            }
        }
        #expect(error?.code == .noContext && error?.message.contains("retain it") == true)
        #expect(note.text == "old" && !note.isDirty && !note.isLoaded && api.calls.isEmpty)
    }

    @Test func `works again in another one`() async throws {
        let note = try orphan()
        let context = ModelContext(engine: api.engine)
        try context.register(note)
        try await note.load()
        #expect(note.text == "new" && note.isLoaded)
        withExtendedLifetime(context) {}
    }

    @Test func `a model of a context without an engine, and a copy, stay static`() async throws {
        let note: Note = try ModelContext().model(from: ["id": 1, "text": "old", "stars": 1])
        try await note.load()
        let copy = try orphan().copy()
        try await copy.load()
        #expect(note.isLoaded && copy.isLoaded && api.calls.isEmpty)
    }
}
