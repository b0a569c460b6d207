import Diamond
import DiamondModel
import DiamondSQLite
import DiamondTestSupport
import Foundation
import HTTPTypes
import Testing

@ModelActor
@Suite("The loading of a collection", .limit(minutes: 5)) struct CollectionLoadingTests {
    private func row(_ id: Int, stars: Int = 0) -> JSONValue {
        ["id": JSONValue(id), "text": "x", "stars": JSONValue(stars)]
    }

    private func notes(_ paging: Paging, _ list: Guarded<[Int]>) -> ModelCollection<Note> {
        let notes = ModelCollection<Note>(context: ModelContext())
        notes.source = PageSource(paging: paging) { query in
            let all = list.withLock { $0 }
            var start = 0
            switch query.position {
            case .offset(let offset): start = offset
            case .number(let number, _): start = (number - 1) * 3
            case .before(let id): start = (all.firstIndex { JSONValue($0) == id } ?? all.count - 1) + 1
            default: break
            }
            if let first = query.newerThan { return Page(items: all.prefix { JSONValue($0) != first }.map(Self.row)) }
            return Page(items: all.dropFirst(start).prefix(3).map(Self.row))
        }
        return notes
    }

    private nonisolated static func row(_ id: Int) -> JSONValue { ["id": JSONValue(id), "text": "x"] }

    @Test func `a collection without a source is static`() async throws {
        let notes = ModelCollection<Note>()
        #expect(notes.isLoaded && !notes.hasMore)
        try await notes.load()
        try await notes.next()
    }

    @Test(arguments: [Paging.offset(limit: 3), .page(size: 3), .items(limit: 3)])
    func `pages follow one another to the end, each row once`(_ paging: Paging) async throws {
        let list = Guarded(Array(1...8))
        let notes = notes(paging, list)
        #expect(!notes.isLoaded && !notes.hasMore)
        try await notes.load()
        #expect(notes.map(\.id) == [1, 2, 3] && notes.hasMore)
        while notes.hasMore { try await notes.next() }
        #expect(notes.map(\.id) == Array(1...8))
        #expect(notes.position == .end)
        try await notes.next()
        #expect(notes.count == 8)
    }

    @Test func `rows that the server has moved to the next page are merged, not duplicated`() async throws {
        let list = Guarded(Array(1...8))
        let notes = notes(.offset(limit: 3), list)
        try await notes.load()
        list.withLock { $0.insert(0, at: 0) }
        while notes.hasMore { try await notes.next() }
        #expect(notes.map(\.id) == [1, 2, 3, 4, 5, 6, 7, 8])
    }

    @Test(arguments: [Paging.offset(limit: 3), .items(after: "since_id", limit: 3)])
    func `a refresh adds new items at the top, and keeps the rest and the position`(_ paging: Paging) async throws {
        let list = Guarded(Array(1...8))
        let notes = notes(paging, list)
        try await notes.load()
        try await notes.next()
        let position = notes.position
        list.withLock { $0.insert(contentsOf: [20, 21], at: 0) }
        try await notes.refresh()
        #expect(notes.map(\.id) == [20, 21, 1, 2, 3, 4, 5, 6])
        #expect(notes.position == position)
        while notes.hasMore { try await notes.next() }
        #expect(notes.map(\.id) == [20, 21, 1, 2, 3, 4, 5, 6, 7, 8])
    }

    @Test(arguments: [Paging.offset(limit: 3), .items(after: "since_id", limit: 3)])
    func `a refresh that may miss rows loads the list from the beginning`(
        _ paging: Paging
    ) async throws {
        let list = Guarded(Array(1...8))
        let notes = notes(paging, list)
        try await notes.load()
        list.withLock { $0.insert(contentsOf: 20...25, at: 0) }
        try await notes.refresh()
        while notes.hasMore { try await notes.next() }
        #expect(notes.map(\.id) == Array(20...25) + Array(1...8))
    }

    @Test func `a load from the beginning replaces the rows, in the order of the server`() async throws {
        let list = Guarded([3, 1, 2])
        let notes = notes(.whole, list)
        try await notes.load()
        let first = try #require(notes[id: 3])
        list.withLock { $0 = [2, 3, 4] }
        try await notes.load()
        #expect(notes.map(\.id) == [2, 3, 4])
        #expect(notes[id: 3] === first)
    }

    @Test func `objects that the server does not have yet stay when a list is loaded`() async throws {
        let list = Guarded([1, 2])
        let notes = notes(.whole, list)
        try await notes.load()
        let draft = Note()
        try notes.add(draft)
        try await notes.load()
        #expect(notes.count == 3 && notes.contains(draft))
    }

    @Test func `a page that fails does not change rows, position and state, and is loaded by the next call`()
        async throws
    {
        let failing = Guarded(false)
        let notes = ModelCollection<Note>(context: ModelContext())
        notes.source = PageSource(paging: .offset(limit: 2)) { query in
            if failing.withLock({ $0 }) { throw ConnectionError(.connectionLost, "broke") }
            let start = if case .offset(let offset) = query.position { offset } else { 0 }
            return Page(items: (start..<start + 2).map(Self.row), isLast: start == 4)
        }
        try await notes.load()
        failing.withLock { $0 = true }
        await #expect(throws: ConnectionError.self) { try await notes.next() }
        #expect(notes.count == 2 && notes.position == .offset(2) && !notes.isLoadingMore)
        #expect(!notes.needsMore(showing: 1))
        failing.withLock { $0 = false }
        try await notes.next()
        try await notes.next()
        #expect(notes.map(\.id) == [0, 1, 2, 3, 4, 5] && !notes.hasMore)
    }

    @Test func `a body without a list keeps the rows, and is the error of the load`() async throws {
        let answers = Guarded<[JSONValue]>([[["id": 1, "text": "x"]], ["items": 7]])
        let api = StubAPI { _ in StubAPI.Answer(200, answers.withLock { $0.removeFirst() }) }
        let notes = ModelCollection<Note>()
        notes.source = PageSource(api.engine, Request("notes"))
        try await notes.load()
        let error = await #expect(throws: PagingError.self) { try await notes.load(policy: .reload) }
        #expect(error?.code == .noItems)
        #expect(notes.map(\.id) == [1] && !notes.isLoading)
        #expect(notes.loadState.error is PagingError)
    }

    @Test func `elements that cannot be read are stored as rejected, and the rest of the page is added`() async throws {
        let notes = ModelCollection<Note>()
        notes.source = PageSource { _ in Page(items: [["id": 1], 7, ["text": "no id"], ["id": 2], ["id": 1]]) }
        try await notes.load()
        #expect(notes.map(\.id) == [1, 2])
        #expect(notes.rejected.map(\.index) == [1, 2, 4])
    }

    @Test func `a server whose pages form a cycle ends the list`() async throws {
        let notes = ModelCollection<Note>()
        notes.source = PageSource(paging: .cursor()) { query in
            let next: JSONValue = query.position == .cursor("a") ? "b" : "a"
            return Page(items: [Self.row(query.position == .start ? 1 : next == "a" ? 3 : 2)], next: next)
        }
        try await notes.load()
        var pages = 0
        while notes.hasMore, pages < 10 {
            pages += 1
            try await notes.next()
        }
        #expect(notes.map(\.id) == [1, 2, 3] && pages == 2)
    }

    @Test func `concurrent calls for the next page share one load`() async throws {
        let gate = Gate()
        let asked = Guarded(0)
        let notes = ModelCollection<Note>()
        notes.source = PageSource(paging: .offset(limit: 1)) { query in
            asked.withLock { $0 += 1 }
            if query.position != .start { await gate.wait() }
            return Page(items: [Self.row(query.position == .start ? 1 : 2)])
        }
        try await notes.load()
        let calls = (0..<5).map { _ in Task { try await notes.next() } }
        await untilTrue { asked.withLock { $0 } == 2 }
        gate.open()
        for call in calls { try await call.value }
        #expect(asked.withLock { $0 } == 2)
        #expect(notes.map(\.id) == [1, 2])
    }

    @Test func `a page whose list is loaded again meanwhile is not applied`() async throws {
        let gate = Gate()
        let asked = Guarded(0)
        let notes = ModelCollection<Note>()
        notes.source = PageSource(paging: .offset(limit: 1)) { query in
            let count = asked.withLock { count in
                count += 1
                return count
            }
            if query.position != .start { await gate.wait() }
            return Page(items: [Self.row(query.position == .start ? count * 10 : 2)])
        }
        try await notes.load()
        let more = Task { try await notes.next() }
        await untilTrue { asked.withLock { $0 } == 2 }
        try await notes.load(policy: .reload)
        gate.open()
        try await more.value
        #expect(notes.map(\.id) == [30])
        #expect(notes.position == .offset(1))
    }

    @Test func `an object that was destroyed while its list was loaded does not come back`() async throws {
        let gate = Gate()
        let api = StubAPI { call in
            if call.method == "DELETE" { return StubAPI.Answer(204) }
            if call.path != "notes" { return StubAPI.Answer(404) }
            await gate.wait()
            return StubAPI.Answer(200, [["id": 7, "text": "x"], ["id": 8, "text": "y"]])
        }
        let context = ModelContext(engine: api.engine)
        let notes = ModelCollection<Note>(context: context)
        notes.source = PageSource(api.engine, Request("notes"))
        let note: Note = try context.model(from: ["id": 7, "text": "x"])
        try notes.add(note)
        let load = Task { try await notes.load() }
        await untilTrue { api.calls.count == 1 }
        try await note.destroy()
        gate.open()
        try await load.value
        #expect(notes.map(\.id) == [8])
    }

    @Test func `an object that was saved while its list was loaded keeps its saved values, and stays in the list`()
        async throws
    {
        let gate = Gate()
        let api = StubAPI { call in
            if call.method == "POST" { return StubAPI.Answer(201, ["id": 9, "text": "new", "stars": 0]) }
            if call.method == "PATCH" { return StubAPI.Answer(204) }
            await gate.wait()
            return StubAPI.Answer(200, [["id": 7, "text": "old"], ["id": 8, "text": "y"]])
        }
        let context = ModelContext(engine: api.engine)
        let notes = ModelCollection<Note>(context: context)
        notes.source = PageSource(api.engine, Request("notes"))
        let note: Note = try context.model(from: ["id": 7, "text": "x", "stars": 0])
        try notes.add(note)
        let load = Task { try await notes.load() }
        await untilTrue { api.calls.count == 1 }
        try await note.save { $0.text = "mine" }
        let created = Note()
        created.text = "new"
        try await notes.create(created)
        gate.open()
        try await load.value
        #expect(notes.map(\.id) == [7, 8, 9])
        #expect(note.text == "mine")
    }

    @Test func `the position and the age of a list are restored from its archive`() async throws {
        let list = Guarded(Array(1...8))
        let notes = notes(.offset(limit: 3), list)
        try await notes.load()
        let back = try JSONDecoder().decode(ModelCollection<Note>.self, from: JSONEncoder().encode(notes))
        back.source = notes.source
        #expect(back.isLoaded && back.position == .offset(3))
        #expect(back.loadState.loadedAt == notes.loadState.loadedAt)
        while back.hasMore { try await back.next() }
        #expect(back.map(\.id) == Array(1...8))
    }

    @Test func `a list needs its next page when a row near its end is shown`() async throws {
        let list = Guarded(Array(1...8))
        let notes = notes(.offset(limit: 3), list)
        try await notes.load()
        #expect(notes.needsMore(showing: 2, distance: 1) && !notes.needsMore(showing: 1, distance: 1))
        #expect(notes.needsMore(showing: 0))
    }

    @Test(arguments: [Paging.offset(limit: 3), .page(size: 3)], [nil, 100])
    func `a server that ignores the position of a counted page ends the list`(
        _ paging: Paging, _ total: Int?
    ) async throws {
        let loads = Guarded(0)
        let notes = ModelCollection<Note>()
        notes.source = PageSource(paging: paging) { query in
            let number = loads.withLock { count in
                count += 1
                return count
            }
            // The fields change, and the objects do not.
            return Page(
                items: [1, 2, 3].map { ["id": JSONValue($0), "text": "x", "stars": JSONValue(number)] }, total: total)
        }
        try await notes.load()
        while notes.hasMore, loads.withLock({ $0 < 20 }) { try await notes.next() }
        #expect(notes.map(\.id) == [1, 2, 3] && notes.position == .end && loads.withLock { $0 } == 3)
        try await notes.load()
        #expect(notes.hasMore)
    }

    @Test func `a counted page that is repeated once, after new items before it, does not end the list`() async throws {
        let list = Guarded(Array(1...8))
        let notes = notes(.offset(limit: 3), list)
        try await notes.load()
        list.withLock { $0.insert(contentsOf: [20, 21, 22], at: 0) }
        try await notes.next()
        #expect(notes.map(\.id) == [1, 2, 3] && notes.hasMore)
        while notes.hasMore { try await notes.next() }
        #expect(notes.map(\.id) == Array(1...8))
    }

    @Test func `lists that change between pages neither lose nor duplicate rows, whatever is inserted`() async throws {
        var random = SplitMix(state: Effort.seed)
        for round in 0..<Effort.rounds(40, soaking: 2_000) {
            let list = Guarded(Array(1...Int.random(in: 1...20, using: &random)))
            let notes = notes([.offset(limit: 3), .items(limit: 3)][round % 2], list)
            try await notes.load()
            var next = 100
            while notes.hasMore {
                let inserted = Int.random(in: 0...1, using: &random)
                let place = Int.random(in: 0...list.withLock { $0.count }, using: &random)
                list.withLock { $0.insert(contentsOf: (0..<inserted).map { next + $0 }, at: place) }
                next += inserted
                try await notes.next()
            }
            let ids = notes.map(\.id)
            #expect(Set(ids).count == ids.count, "DIAMOND_SEED=\(Effort.seed)")
            let old = list.withLock { $0.filter { $0 < 100 } }
            #expect(ids.filter { $0 < 100 } == old, "DIAMOND_SEED=\(Effort.seed)")
        }
    }

    @Test func `a new source starts at its first page, and the running load of the old source is not applied`()
        async throws
    {
        let gate = Gate()
        let notes = ModelCollection<Note>()
        notes.source = PageSource(paging: .offset(limit: 1)) { query in
            if query.position != .start { await gate.wait() }
            return Page(items: [Self.row(query.position == .start ? 1 : 2)])
        }
        try await notes.load()
        let next = Task { try await notes.next() }
        await untilTrue { notes.isLoadingMore }
        notes.source = PageSource(paging: .cursor()) { query in
            Page(items: [Self.row(query.position == .start ? 10 : 11)], next: query.position == .start ? "b" : nil)
        }
        #expect(!notes.isLoaded && notes.position == .start && notes.map(\.id) == [1])
        gate.open()
        await #expect(throws: CancellationError.self) { try await next.value }
        try await notes.load()
        try await notes.next()
        #expect(notes.map(\.id) == [10, 11])
    }

    @Test func `an archive with another paging scheme starts at the first page`() async throws {
        let list = Guarded(Array(1...5))
        let notes = notes(.offset(limit: 3), list)
        try await notes.load()
        let back = try JSONDecoder().decode(ModelCollection<Note>.self, from: JSONEncoder().encode(notes))
        back.source = PageSource(paging: .cursor()) { query in
            Page(items: list.withLock { $0 }.map(Self.row))
        }
        try await back.next()
        #expect(back.map(\.id) == [1, 2, 3, 4, 5] && !back.hasMore)
    }

    @Test func `a load merges into the models of an archive`() async throws {
        let list = Guarded([1, 2])
        let notes = notes(.whole, list)
        try await notes.load()
        let back = try JSONDecoder().decode(ModelCollection<Note>.self, from: JSONEncoder().encode(notes))
        back.source = notes.source
        let first = try #require(back[id: 1])
        first.stars = 4
        try await back.load()
        #expect(back[id: 1] === first && first.stars == 4 && first.context === back.context)
    }

    @Test(arguments: [Paging.offset(limit: 3), .page(size: 3)])
    func `rows that move up when others are destroyed are not left out`(_ paging: Paging) async throws {
        let list = Guarded(Array(1...8))
        let api = StubAPI { call in
            list.withLock { list in list.removeAll { "notes/\($0)" == call.path } }
            return StubAPI.Answer(204)
        }
        let notes = ModelCollection<Note>(context: ModelContext(engine: api.engine))
        notes.source = self.notes(paging, list).source
        try await notes.load()
        try await notes.next()
        for id in [1, 2, 4, 5] { try await notes[id: ModelID(id)]?.destroy() }
        while notes.hasMore { try await notes.next() }
        #expect(notes.map(\.id) == [3, 6, 7, 8])
    }

    @Test func `a page during whose load rows have moved up is requested again`() async throws {
        let gate = Gate()
        let list = Guarded(Array(1...8))
        let api = StubAPI { call in
            list.withLock { list in list.removeAll { "notes/\($0)" == call.path } }
            return StubAPI.Answer(204)
        }
        let notes = ModelCollection<Note>(context: ModelContext(engine: api.engine))
        notes.source = PageSource(paging: .offset(limit: 3)) { query in
            if query.position == .offset(3) { await gate.wait() }
            let start = if case .offset(let offset) = query.position { offset } else { 0 }
            return Page(items: list.withLock { Array($0.dropFirst(start).prefix(3)) }.map(Self.row))
        }
        try await notes.load()
        let next = Task { try await notes.next() }
        await untilTrue { notes.isLoadingMore }
        try await notes[id: 1]?.destroy()
        gate.open()
        try await next.value
        while notes.hasMore { try await notes.next() }
        #expect(Set(notes.map(\.id)) == Set(2...8))
    }

    @Test func `newer items are loaded up to the first existing item if a server supports only one bound`() async throws
    {
        let notes = ModelCollection<Note>()
        notes.source = PageSource(paging: .items(after: "since_id", limit: 3)) { query in
            let all = query.newerThan == nil ? [3, 2, 1] : Array((1...9).reversed())
            let start = query.newerBefore.flatMap { id in all.firstIndex { JSONValue($0) == id } }.map { $0 + 1 } ?? 0
            return Page(items: all.dropFirst(start).prefix(3).map(Self.row))
        }
        try await notes.load()
        try await notes.refresh()
        #expect(notes.map(\.id) == [9, 8, 7, 6, 5, 4, 3, 2, 1])
    }

    @Test func `newer items are requested until there are none`() async throws {
        let asked = Guarded<[PageQuery]>([])
        let notes = ModelCollection<Note>()
        notes.source = PageSource(paging: .items(after: "since_id")) { query in
            asked.withLock { $0.append(query) }
            guard query.newerThan != nil else { return Page(items: [3, 2, 1].map(Self.row)) }
            switch query.newerBefore {
            case nil: return Page(items: [9, 8].map(Self.row))
            case 8: return Page(items: [7, 6].map(Self.row))
            default: return Page(items: [])
            }
        }
        try await notes.load()
        let loadedAt = notes.loadState.loadedAt
        try await notes.refresh()
        #expect(notes.map(\.id) == [9, 8, 7, 6, 3, 2, 1])
        #expect(asked.withLock { $0.map(\.newerThan) } == [nil, 3, 3, 3])
        #expect(notes.loadState.loadedAt == loadedAt)
    }

    @Test func `a refresh joins a load from the beginning`() async throws {
        let gate = Gate()
        let asked = Guarded(0)
        let notes = ModelCollection<Note>()
        notes.source = PageSource(paging: .offset(limit: 1)) { _ in
            asked.withLock { $0 += 1 }
            await gate.wait()
            return Page(items: [Self.row(1)])
        }
        let load = Task { try await notes.load() }
        await untilTrue { asked.withLock { $0 } == 1 }
        let refresh = Task { try await notes.refresh() }
        await Task.yield()
        gate.open()
        try await load.value
        try await refresh.value
        #expect(asked.withLock { $0 } == 1)
    }

    @Test func `the pages of a list do not use the app's cache key, and are not queued`() async throws {
        let api = StubAPI { call in
            StubAPI.Answer(200, .array((call.path.contains("offset") ? [3] : [1, 2]).map(Self.row)))
        }
        var request = Request("notes")
        request.cacheKey = "notes"
        request.replay = .durable
        let notes = ModelCollection<Note>()
        notes.source = PageSource(api.engine, request, paging: .offset(limit: 2))
        try await notes.load()
        try await notes.next()
        #expect(notes.map(\.id) == [1, 2, 3])
    }

    @Test func `a next page at another origin is refused, also after a redirect and from an archive`() async throws {
        let link = try #require(HTTPField.Name("Link"))
        let api = StubAPI { call in
            call.path == "notes"
                ? StubAPI.Answer(307, headers: [.location: "https://other.example/notes"])
                : StubAPI.Answer(200, [["id": 1]], headers: [link: "<https://other.example/notes?page=2>; rel=next"])
        }
        let notes = ModelCollection<Note>()
        notes.source = PageSource(api.engine, Request("notes"), paging: .link())
        let error = await #expect(throws: PagingError.self) { try await notes.load() }
        #expect(error?.code == .otherOrigin)
        let archive =
            #"{"models":[],"filters":[],"sortKeys":[],"position":{"url":{"_0":"https://other.example/x"}},"loadedAt":0}"#
        let back = try JSONDecoder().decode(ModelCollection<Note>.self, from: Data(archive.utf8))
        back.source = notes.source
        let later = await #expect(throws: PagingError.self) { try await back.next() }
        #expect(later?.code == .otherOrigin)
        #expect(!api.calls.contains { $0.path.contains("page=2") || $0.path.contains("/x") })
    }

    @Test func `a row that an observer removes during a refresh does not determine the position of new rows`()
        async throws
    {
        let list = Guarded([2, 3])
        let notes = notes(.offset(limit: 3), list)
        try await notes.load()
        let first = try #require(notes[id: 2])
        let token = first.observe { _ in notes.remove(first) }
        list.withLock { $0 = [1, 2, 3] }
        try first.merge(["stars": 5])
        try await notes.refresh()
        #expect(notes.allModels.map(\.id) == [1, 2, 3])
        token.cancel()
    }

    // MARK: Saving

    @Test(arguments: [SaveMode.optimistic, .wait], [201, 500])
    func `an object is both created on the server and added to the list, or neither`(_ mode: SaveMode, _ status: Int)
        async throws
    {
        let gate = Gate()
        let api = StubAPI { _ in
            await gate.wait()
            return StubAPI.Answer(status, status == 201 ? ["id": 7, "text": "milk", "stars": 0] : nil)
        }
        let notes = ModelCollection<Note>()
        notes.source = PageSource(api.engine, Request("lists/1/notes", parameters: ["open": true]))
        let note = Note()
        note.text = "milk"
        let creation = Task { try await notes.create(note, mode) }
        await untilTrue { api.calls.count == 1 }
        #expect(notes.count == (mode == .optimistic ? 1 : 0))
        gate.open()
        if status == 201 {
            try await creation.value
            #expect(notes.map(\.id) == [7] && notes[id: 7] === note)
        } else {
            await #expect(throws: ConnectionError.self) { try await creation.value }
            #expect(notes.isEmpty && note.text == "milk" && note.isNew)
        }
        #expect(api.calls.map(\.path) == ["notes"])
    }

    @Test func `an upload sends deleted, changed and new objects, and the next one repeats failed calls`() async throws
    {
        let failing = Guarded(true)
        let api = StubAPI { call in
            if call.path == "notes/2", failing.withLock({ $0 }) { return StubAPI.Answer(500) }
            return call.method == "POST" ? StubAPI.Answer(201, ["id": 4]) : StubAPI.Answer(204)
        }
        let notes = ModelCollection<Note>(context: ModelContext(engine: api.engine))
        try notes.set([["id": 1, "text": "a"], ["id": 2, "text": "b"], ["id": 3, "text": "c"]])
        let first = try #require(notes[id: 1])
        notes.delete(first)
        notes[id: 2]?.stars = 5
        let draft = Note()
        draft.text = "d"
        try notes.add(draft)
        #expect(notes.deleted.map(\.id) == [1] && notes.count == 3)
        let error = await #expect(throws: UploadError.self) { try await notes.upload() }
        #expect(error?.failures.map(\.id) == [2])
        #expect(api.calls.map(\.method) == ["DELETE", "PATCH", "POST"])
        #expect(draft.serverID == 4 && notes.deleted.isEmpty)
        failing.withLock { $0 = false }
        try await notes.upload()
        #expect(api.calls.suffix(1) == [StubAPI.Call("PATCH", "notes/2", ["stars": 5])])
        try await notes.upload()
        #expect(api.calls.count == 4)
    }

    @Test func `a sync uploads changes before it loads`() async throws {
        let api = StubAPI { call in
            call.method == "GET" ? StubAPI.Answer(200, [["id": 1, "text": "a", "stars": 5]]) : StubAPI.Answer(204)
        }
        let notes = ModelCollection<Note>()
        notes.source = PageSource(api.engine, Request("notes"))
        try notes.set([["id": 1, "text": "a"], ["id": 2, "text": "b"]])
        notes[id: 1]?.stars = 5
        try await notes.sync()
        #expect(api.calls.map(\.method) == ["PATCH", "GET"])
        #expect(notes.map(\.id) == [1])
    }
}
