import Diamond
import DiamondModel
import DiamondSQLite
import DiamondTestSupport
import Testing

@ModelActor
@Suite("A collection that follows a query", .limit(minutes: 5)) struct CollectionFollowingTests {
    private let answers = Guarded<[StubAPI.Answer]>([])

    private func api() -> StubAPI {
        StubAPI { [answers] _ in
            answers.withLock { $0.count > 1 ? $0.removeFirst() : $0.first ?? StubAPI.Answer(500) }
        }
    }

    private func answer(_ answers: StubAPI.Answer...) { self.answers.withLock { $0 = answers } }

    private func list(_ texts: String...) -> StubAPI.Answer {
        .init(
            200, .array(texts.enumerated().map { ["id": .integer(Int64($0.offset + 1)), "text": .string($0.element)] }))
    }

    /// Waits until a condition is met after an event of loading.
    private func wait(_ notes: ModelCollection<Note>, until isMet: () -> Bool) async {
        let (events, continuation) = AsyncStream.makeStream(of: Void.self)
        let token = notes.observeLoading { _, _ in continuation.yield() }
        var iterator = events.makeAsyncIterator()
        while !isMet() { _ = await iterator.next() }
        token.cancel()
    }

    @Test func `a collection shows each new response of the query that it follows`() async throws {
        answer(list("a", "b"))
        let api = api()
        let notes = ModelCollection<Note>(context: ModelContext(engine: api.engine))
        let following = Task { await notes.follow(api.engine.updates(Request("notes"))) }
        await wait(notes) { notes.count == 2 && !notes.isLoading }
        let first = notes[0]
        #expect(notes.map(\.text) == ["a", "b"] && notes.isLoaded && notes.loadState.error == nil)
        first.stars = 5
        answer(list("c"))
        try await api.engine.invalidate(Request("notes"))
        await wait(notes) { notes.count == 1 && !notes.isLoading }
        #expect(notes[0] === first && first.text == "c" && first.stars == 5 && first.isDirty)
        following.cancel()
        await following.value
        #expect(!notes.isLoading && notes.count == 1)
    }

    @Test func `a failed fetch is the error of the collection, whose rows stay, until one succeeds`() async throws {
        answer(list("a"))
        let api = api()
        let notes = ModelCollection<Note>(context: ModelContext(engine: api.engine))
        let following = Task { await notes.follow(api.engine.updates(Request("notes"))) }
        await wait(notes) { notes.count == 1 && !notes.isLoading }
        answer(.init(404))
        try await api.engine.invalidate(Request("notes"))
        await wait(notes) { notes.loadState.error != nil && !notes.isLoading }
        #expect(notes.map(\.text) == ["a"])
        answer(.init(200, "no list"))
        try await api.engine.invalidate(Request("notes"))
        await wait(notes) { notes.loadState.error is PagingError && !notes.isLoading }
        #expect(notes.map(\.text) == ["a"])
        answer(list("b"))
        try await api.engine.invalidate(Request("notes"))
        await wait(notes) { notes.loadState.error == nil && !notes.isLoading }
        #expect(notes.map(\.text) == ["b"])
        following.cancel()
        await following.value
    }

    @Test func `a collection with pages keeps the rows of later pages`() async throws {
        answer(list("a", "b"), .init(200, [["id": 3, "text": "c"]]), list("x", "y"))
        let api = api()
        let notes = ModelCollection<Note>(context: ModelContext(engine: api.engine))
        notes.source = PageSource(api.engine, Request("notes"), paging: .page(size: 2))
        try await notes.load()
        try await notes.next()
        #expect(notes.map(\.text) == ["a", "b", "c"])
        let request = Request("notes", parameters: ["page": 1, "per_page": 2])
        let following = Task { await notes.follow(api.engine.updates(request)) }
        await wait(notes) { notes.first?.text == "x" && !notes.isLoading }
        #expect(notes.map(\.text) == ["x", "y", "c"])
        following.cancel()
        await following.value
    }

    @Test func `a collection without a context keeps unsaved changes and new rows when it follows a query`()
        async throws
    {
        answer(list("a", "b"))
        let api = api()
        let notes = ModelCollection<Note>()
        try notes.set([["id": 1, "text": "old"]])
        let first = notes[0]
        first.stars = 5
        let draft = Note()
        draft.text = "draft"
        try notes.add(draft)
        let following = Task { await notes.follow(api.engine.updates(Request("notes"))) }
        await wait(notes) { notes.count == 3 && !notes.isLoading }
        #expect(notes.map(\.text) == ["a", "b", "draft"] && notes[0] === first && notes.last === draft)
        #expect(first.stars == 5 && first.isDirty && draft.isNew && notes.context != nil)
        following.cancel()
        await following.value
    }
}
