import Diamond
import DiamondModel
import Testing

/// Content that did not come with a load of its own.
@ModelActor
@Suite("The presentation of a load") struct LoadPresenterTests {
    private let api: StubAPI
    private let context: ModelContext
    private let notes: ModelCollection<Note>

    init() {
        api = StubAPI { call in
            let note: JSONValue = ["id": 1, "text": call.path == "notes" ? "short" : "long", "stars": 1]
            return StubAPI.Answer(200, call.path == "notes" ? [note] : note)
        }
        context = ModelContext(engine: api.engine)
        notes = ModelCollection(context: context)
        notes.source = PageSource(api.engine, Request("notes"))
    }

    private func shown(while presenter: LoadPresenter) async -> Set<Presentation> {
        var shown: Set<Presentation> = []
        let token = presenter.observe { shown.insert($0) }
        await presenter.appear()
        token.cancel()
        return shown
    }

    @Test func `a row that a list has loaded is shown at once, and loaded`() async throws {
        try await notes.load()
        let presenter = LoadPresenter(notes[0])
        #expect(presenter.presentation == .content && !notes[0].isLoaded)
        #expect(await shown(while: presenter) == [.content])
        #expect(notes[0].text == "long" && notes[0].isLoaded)
    }

    @Test func `an object with no more than its id is not shown`() async throws {
        let note: Note = try context.model(from: ["id": 1])
        let presenter = LoadPresenter(note)
        #expect(presenter.presentation == .nothing)
        #expect(await shown(while: presenter).isSuperset(of: [.nothing, .loading, .content]))
        let other: Note = try context.model(from: ["id": 2])
        let observed = LoadPresenter(other)
        var shown: [Presentation] = []
        let token = observed.observe { shown.append($0) }
        observed.disappear()
        try notes.upsert([["id": 2, "text": "b", "stars": 1]])
        #expect(observed.presentation == .content && shown.isEmpty)
        token.cancel()
    }

    @Test func `rows that did not come from the source are shown, and a row whose load fails, too`() async throws {
        try notes.set([["id": 1, "text": "a", "stars": 1]])
        #expect(LoadPresenter(notes).presentation == .content)
        let failing = ModelContext(engine: StubAPI { _ in StubAPI.Answer(500) }.engine)
        let note: Note = try failing.model(from: ["id": 1, "text": "a", "stars": 1])
        let presenter = LoadPresenter(note)
        #expect(await shown(while: presenter) == [.content])
        #expect(note.loadState.error is ConnectionError)
        withExtendedLifetime(failing) {}
    }
}
