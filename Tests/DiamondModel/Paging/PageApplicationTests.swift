import Diamond
import DiamondModel
import DiamondTestSupport
import Foundation
import Testing

@testable import DiamondModel

/// Long pages are applied in pieces, each with an exact change set. Other work of the isolation domain runs between
/// them.
@ModelActor
@Suite("The application of a page", .limit(minutes: 5)) struct PageApplicationTests {
    private nonisolated static func text(_ ids: some Sequence<Int>, text: String = "x") -> String {
        "[\(ids.map { "{\"id\":\($0),\"text\":\"\(text)\"}" }.joined(separator: ","))]"
    }

    private func notes(_ answer: @escaping @Sendable (StubAPI.Call) -> String) -> ModelCollection<Note> {
        let api = StubAPI { StubAPI.Answer(text: answer($0)) }
        let notes = ModelCollection<Note>(context: ModelContext(engine: api.engine))
        notes.source = PageSource(api.engine, Request("notes"))
        return notes
    }

    private func table(_ notes: ModelCollection<Note>) -> CollectionTable<Note> {
        CollectionTable(notes) { Cell(id: $0.id, version: $0.stars) }
    }

    private func page(_ text: String) throws -> Page {
        var page = Page(items: [])
        page.content = try #require(JSONItem(reading: Data(text.utf8)).elements)
        return page
    }

    /// Applies a page in pieces, and calls `body` before each of them, and after the last one.
    private func apply(
        _ page: Page, to notes: ModelCollection<Note>, load: Load = Load(), _ body: (Int) -> Bool = { _ in true }
    ) async throws {
        let context = try #require(notes.context)
        let time = context.order.begin()
        defer { context.order.end(time) }
        var calls = -1
        await notes.core.applyPieces(of: page, of: load, at: time) {
            // The first calls come before the first piece.
            calls += 1
            return calls == 0 || body(calls - 1)
        }
        try context.applyingAnswer(of: time) { try notes.apply(page, of: load) }
    }

    @Test func `a long list arrives in pieces, and other work runs between them`() async throws {
        let count = 20 * PageApplication.pieceSize
        let notes = notes { _ in Self.text(0..<count) }
        let table = table(notes)
        var counts: [Int] = []
        let token = notes.observe { counts.append($0.newCounts[0]) }
        var seen: Set<Int> = []
        let other = Task {
            while !notes.isLoaded {
                seen.insert(notes.count)
                await Task.yield()
            }
        }
        try await notes.load()
        await other.value
        #expect(notes.map(\.id) == Array(0..<count) && table.failure == nil && table.batches == 20)
        #expect(counts == (1...20).map { $0 * PageApplication.pieceSize } && seen.count >= 10)
        #expect(notes.core.application == nil)
        _ = token
    }

    @Test func `a collection whose table asks for one batch gets one`() async throws {
        let count = 8 * PageApplication.pieceSize
        let notes = notes { _ in Self.text(0..<count) }
        notes.appliesPagesAtOnce = true
        var sets = 0
        let token = notes.observe { _ in sets += 1 }
        try await notes.load()
        #expect(notes.count == count && sets == 1 && notes.copy().appliesPagesAtOnce)
        _ = token
    }

    @Test(arguments: 0..<12)
    func `pieces lead to what the whole page leads to`(seed: Int) async throws {
        var random = SplitMix(state: UInt64(seed))
        let old = changed(Array(0..<700), &random)
        let new = changed(old + (1_000..<1_300), &random)
        let collections = try (0..<2).map { _ -> ModelCollection<Note> in
            let notes = notes { _ in "[]" }
            if seed % 3 == 1 { notes.sortKeys = [.by(\.text, named: "text")] }
            if seed % 3 == 2 { notes.filters["odd"] = Filter { $0.id % 2 == 1 } }
            try notes.set(Data(Self.text(old).utf8))
            if seed % 4 == 1 { try notes.append(Note()) }
            for id in [3, 33, 333] { notes[id: ModelID(id)]?.stars = 5 }
            if !notes.isEmpty { try notes.move(from: 0, to: notes.count / 2) }
            return notes
        }
        let table = table(collections[0])
        let text = Self.text(new, text: "y")
        try await apply(page(text), to: collections[0])
        let context = try #require(collections[1].context)
        let time = context.order.begin()
        try context.applyingAnswer(of: time) { try collections[1].apply(page(text), of: Load()) }
        context.order.end(time)
        #expect(table.failure == nil && table.resets == 0)
        // Not the values, which would be a long message.
        let hasSameRows = collections[0].map(\.json) == collections[1].map(\.json)
        let hasSameModels = collections[0].allModels.map(\.json) == collections[1].allModels.map(\.json)
        #expect(hasSameRows && hasSameModels)
        #expect(collections[0].core.hasChangedMembers == collections[1].core.hasChangedMembers)
    }

    /// Returns a list with some ids removed and others moved: a few of them, or all.
    private func changed(_ ids: [Int], _ random: inout SplitMix) -> [Int] {
        var ids = ids
        if Int.random(in: 0..<4, using: &random) == 0 { ids.shuffle(using: &random) }
        for _ in 0..<Int.random(in: 0..<5, using: &random) {
            let start = Int.random(in: 0..<ids.count - 100, using: &random)
            ids.removeSubrange(start..<start + Int.random(in: 1..<100, using: &random))
        }
        for _ in 0..<Int.random(in: 0..<5, using: &random) {
            let id = ids.remove(at: Int.random(in: 0..<ids.count, using: &random))
            ids.insert(id, at: Int.random(in: 0...ids.count, using: &random))
        }
        return ids
    }

    @Test(arguments: 0..<12)
    func `change sets stay exact whatever the app changes between two pieces`(seed: Int) async throws {
        var random = SplitMix(state: UInt64(seed))
        let old = changed(Array(0..<700), &random)
        let new = changed(old + (1_000..<1_300), &random)
        let notes = notes { _ in "[]" }
        try notes.set(Data(Self.text(old).utf8))
        let table = table(notes)
        var removed: Set<Int> = []
        try await apply(
            page(Self.text(new, text: "y")), to: notes, load: Load(scope: seed % 2 == 0 ? .more : .beginning)
        ) {
            _ in
            for _ in 0..<2 where !notes.isEmpty {
                let note = notes[Int.random(in: 0..<notes.count, using: &random)]
                switch Int.random(in: 0..<6, using: &random) {
                case 0:
                    removed.insert(note.id)
                    notes.remove(note)
                case 1: try? notes.move(from: notes.count / 2, to: 0)
                case 2: note.text = "a"
                case 3: notes.sortKeys = notes.sortKeys.isEmpty ? [.by(\.text, named: "text")] : []
                case 4: notes.sectionRule = notes.sectionRule == nil ? .by(\.text) : nil
                default: notes.filters["odd"] = notes.filters["odd"] == nil ? Filter { $0.id % 2 == 1 } : nil
                }
            }
            return true
        }
        #expect(table.failure == nil)
        let ids = notes.allModels.map(\.id)
        let known = Set(ids)
        #expect(known.count == ids.count && known.isSuperset(of: Set(new).subtracting(removed)))
        if seed % 2 == 1 { #expect(ids.filter(Set(new).contains) == new.filter(known.contains)) }
    }

    @Test func `what the app changes between two pieces stays`() async throws {
        let count = 8 * PageApplication.pieceSize
        let notes = notes { _ in "[]" }
        try notes.set(Data(Self.text(0..<count).utf8))
        let table = table(notes)
        let draft = Note()
        try await apply(page(Self.text(0..<count, text: "y")), to: notes) { piece in
            if piece == 2 {
                notes.remove(notes[0])
                notes[id: ModelID(count - 1)]?.text = "mine"
                notes[0].stars = 3
                draft.text = "draft"
                #expect(throws: Never.self) { try notes.insert(draft, at: 5) }
            }
            return true
        }
        #expect(notes.dropLast().map(\.id) == Array(1..<count) && notes.last === draft && table.failure == nil)
        #expect(notes[0].text == "y" && notes[0].stars == 3 && notes[0].isDirty)
        #expect(notes[id: ModelID(count - 1)]?.text == "mine" && notes.core.hasChangedMembers)
    }

    @Test(arguments: [Load(), Load(scope: .more)])
    func `a page is whole although the app replaces the content between two pieces`(load: Load) async throws {
        let count = 8 * PageApplication.pieceSize
        let notes = notes { _ in "[]" }
        let table = table(notes)
        try await apply(page(Self.text(0..<count)), to: notes, load: load) { piece in
            if piece == 2 { #expect(throws: Never.self) { try notes.set(Data(Self.text([7, 5_000]).utf8)) } }
            return true
        }
        let ids = Set(notes.map(\.id))
        #expect(ids.isSuperset(of: 0..<count) && ids.count == (load.scope == .more ? count + 1 : count))
        #expect(table.failure == nil)
    }

    @Test func `an observer may replace the content after each piece`() async throws {
        let count = 8 * PageApplication.pieceSize
        let notes = notes { _ in Self.text(0..<count) }
        let token = notes.observe { _ in
            let sorted = notes.sorted { $0.id > $1.id }
            #expect(throws: Never.self) { try notes.set(sorted) }
        }
        try await notes.load()
        #expect(notes.map(\.id) == (0..<count).reversed() && notes.core.application == nil)
        token.cancel()
    }

    @Test(arguments: [Load.Scope.more, .refresh])
    func `a row that is removed between two pieces stays an unsaved change`(scope: Load.Scope) async throws {
        let count = 8 * PageApplication.pieceSize
        let notes = notes { _ in "[]" }
        let engine = try #require(notes.context?.engine)
        notes.source = PageSource(engine, Request("notes"), paging: .offset(limit: count))
        try notes.set(Data(Self.text(5_000..<5_010).utf8))
        var removed: Note?
        try await apply(page(Self.text(Array(0..<count) + [5_000])), to: notes, load: Load(scope: scope)) { piece in
            if piece == 2 {
                removed = notes.first { $0.id < count }
                removed.map { _ = notes.remove($0) }
            }
            return true
        }
        let id = try #require(removed).modelID
        #expect(notes.count == count + 9 && notes[id: id] == nil && notes.core.hasChangedMembers)
        #expect(notes.core.syncedIDs?.count == count + 10 && notes.core.syncedIDs?.contains(id) == true)
    }

    @Test func `a page replaces the content if the collection is reset after a piece for the top`() async throws {
        let count = 8 * PageApplication.pieceSize
        let notes = notes { _ in "[]" }
        let context = try #require(notes.context)
        let engine = try #require(context.engine)
        notes.source = PageSource(engine, Request("notes"), paging: .offset(limit: count))
        try notes.set(Data(Self.text(5_000..<5_010).utf8))
        let new = try page(Self.text(Array(0..<count) + [5_000]))
        let time = context.order.begin()
        await notes.core.applyPieces(of: new, of: Load(scope: .refresh), at: time) { notes.count < count / 2 }
        #expect(notes.count > 10 && notes.core.application?.place == .top)
        notes.reset()
        try context.applyingAnswer(of: time) { try notes.apply(new, of: Load()) }
        context.order.end(time)
        #expect(notes.map(\.id) == Array(0..<count) + [5_000] && notes.core.application == nil)
    }

    @Test func `an object that is destroyed between two pieces does not return`() async throws {
        let count = 8 * PageApplication.pieceSize
        let notes = notes { _ in "[]" }
        let context = try #require(notes.context)
        try await apply(page(Self.text(0..<count)), to: notes) { piece in
            if piece == 2 {
                for id in [ModelID(1), ModelID(count - 1)] {
                    context.order.noteDestroyed(ModelKey(Note.self, id))
                    notes[id: id].map { _ = notes.remove($0) }
                }
            }
            return true
        }
        #expect(notes.map(\.id) == [0] + Array(2..<count - 1))
    }

    @Test func `a load that is canceled between two pieces leaves what the next one completes`() async throws {
        let count = 20 * PageApplication.pieceSize
        let notes = notes { _ in Self.text(0..<count) }
        let table = table(notes)
        let other = Task {
            while notes.isEmpty { await Task.yield() }
            notes.cancel()
        }
        await #expect(throws: CancellationError.self) { try await notes.load() }
        await other.value
        #expect(!notes.isEmpty && notes.count < count && !notes.isLoaded && !notes.isLoading)
        #expect(notes.core.application == nil && notes.position == .start)
        try await notes.load()
        #expect(notes.map(\.id) == Array(0..<count) && notes.isLoaded && table.failure == nil)
    }

    @Test(arguments: [1, 2])
    func `a caller that is canceled between two pieces ends at once, and the last one ends the load`(
        callers: Int
    ) async throws {
        let count = 40 * PageApplication.pieceSize
        let notes = notes { _ in Self.text(0..<count) }
        let calls = (0..<callers).map { _ in Task { try await notes.load() } }
        while notes.isEmpty { await Task.yield() }
        calls[0].cancel()
        await #expect(throws: CancellationError.self) { try await calls[0].value }
        if callers == 1 {
            #expect(!notes.isEmpty && notes.count < count && !notes.isLoaded && !notes.isLoading)
            #expect(notes.core.application == nil)
        } else {
            try await calls[1].value
            #expect(notes.count == count && notes.isLoaded)
        }
    }

    @Test func `the rows of a list whose load is canceled between two pieces are the server's`() async throws {
        let count = 8 * PageApplication.pieceSize
        let notes = notes { _ in "[]" }
        let context = try #require(notes.context)
        try notes.set(Data(Self.text(5_000..<5_010).utf8))
        try notes.append(Note())
        let time = context.order.begin()
        try await notes.core.applyPieces(of: page(Self.text(0..<count)), of: Load(), at: time) {
            notes.count < count / 2
        }
        notes.core.endApplication()
        context.order.end(time)
        #expect(notes.count > 11 && notes.core.application == nil && notes.core.hasChangedMembers)
        #expect(notes.core.syncedIDs == notes.allModels.filter { !$0.isNew }.map(\.modelID))
    }

    @Test func `what the app removes and adds between two pieces is unsaved if the load is canceled then`() async throws
    {
        let count = 8 * PageApplication.pieceSize
        let notes = notes { _ in "[]" }
        let context = try #require(notes.context)
        try notes.set(Data(Self.text([5_000, 5_001]).utf8))
        try notes.append(Note())
        let old = try #require(notes[id: 5_000])
        let time = context.order.begin()
        try await notes.core.applyPieces(of: page(Self.text([1] + Array(5_001..<5_001 + count))), of: Load(), at: time)
        {
            notes.count < count / 2
        }
        try notes.remove(#require(notes[id: 5_001]))
        try notes.append(old)
        notes.core.endApplication()
        context.order.end(time)
        let synced = try #require(notes.core.syncedIDs)
        #expect(synced.contains(5_001) && !synced.contains(5_000) && notes.core.hasChangedMembers)
        #expect(notes[id: 5_001] == nil && notes[id: 5_000] === old)
    }

    @Test func `a next page that is canceled between two pieces is requested again`() async throws {
        let size = 8 * PageApplication.pieceSize
        let notes = notes { call in
            let start = call.path.split(separator: "offset=").last.flatMap { Int($0.prefix { $0.isNumber }) } ?? 0
            return Self.text(start..<min(start + size, 2 * size))
        }
        let engine = try #require(notes.context?.engine)
        notes.source = PageSource(engine, Request("notes"), paging: .offset(limit: size))
        try await notes.load()
        let other = Task {
            while notes.count == size { await Task.yield() }
            notes.cancel()
        }
        await #expect(throws: CancellationError.self) { try await notes.next() }
        await other.value
        #expect(notes.count > size && notes.count < 2 * size && notes.position == .offset(size))
        try await notes.next()
        #expect(notes.map(\.id) == Array(0..<2 * size))
    }

    @Test func `new items at the top leave no gap below them if the load is canceled`() async throws {
        let count = 8 * PageApplication.pieceSize
        let notes = notes { _ in "[]" }
        let engine = try #require(notes.context?.engine)
        notes.source = PageSource(engine, Request("notes"), paging: .offset(limit: count))
        try notes.set(Data(Self.text(5_000..<5_010).utf8))
        let refresh = Load(scope: .refresh)
        let new = try page(Self.text(Array(0..<count) + [5_000]))
        let time = try #require(notes.context).order.next()
        await notes.core.applyPieces(of: new, of: refresh, at: time) { notes.count < count / 2 }
        let first = try #require(notes.first).id
        #expect(first > 0 && notes.map(\.id) == Array(first..<count) + Array(5_000..<5_010))
        notes.core.application = nil
        try await apply(new, to: notes, load: refresh)
        #expect(notes.map(\.id) == Array(0..<count) + Array(5_000..<5_010))
    }

    @Test func `a load that replaces another one between two pieces applies its own page`() async throws {
        let count = 20 * PageApplication.pieceSize
        let notes = notes { _ in Self.text(0..<count) }
        let table = table(notes)
        var isReplaced = false
        let other = Task {
            while notes.isEmpty { await Task.yield() }
            isReplaced = !notes.isLoaded
            try await notes.load(policy: .reload)
        }
        try await notes.load()
        try await other.value
        #expect(isReplaced && notes.map(\.id) == Array(0..<count) && table.failure == nil)
        #expect(notes.core.application == nil)
    }

    @Test func `elements that are not accepted have their indexes in the whole page`() async throws {
        let count = 8 * PageApplication.pieceSize
        let text = Self.text(0..<count).dropLast() + ",{\"text\":\"no id\"}," + Self.text([3]).dropFirst()
        let notes = notes { _ in String(text) }
        try notes.set(Data(Self.text([3, 4], text: "old").utf8))
        try await notes.load()
        #expect(notes.map(\.id) == Array(0..<count) && notes[3].text == "x")
        #expect(notes.rejected.map(\.index) == [count, count + 1])
        #expect(notes.rejected.map(\.error.code) == [.missingID, .duplicateID])
    }

    @Test(arguments: [Load.Scope.beginning, .more, .refresh])
    func `no piece removes the rejections of the others`(scope: Load.Scope) async throws {
        let count = 8 * PageApplication.pieceSize
        let notes = notes { _ in "[]" }
        let engine = try #require(notes.context?.engine)
        notes.source = PageSource(engine, Request("notes"), paging: .offset(limit: count))
        try notes.set(Data(Self.text([3]).utf8))
        let faulty = "{\"text\":\"no id\"}"
        let text = "[\(faulty)," + Self.text(0..<count).dropFirst().dropLast() + ",{\"id\":3},\(faulty)]"
        try await apply(page(text), to: notes, load: Load(scope: scope))
        let rejected = notes.rejected.sorted { $0.index < $1.index }
        #expect(rejected.map(\.index) == [0, count + 1, count + 2])
        #expect(rejected.map(\.error.code) == [.missingID, .duplicateID, .missingID])
        #expect(Set(notes.map(\.id)) == Set(0..<count))
    }

    @Test func `a collection that follows a query shows a long list in pieces`() async throws {
        let count = 8 * PageApplication.pieceSize
        let notes = notes { _ in Self.text(0..<count) }
        let engine = try #require(notes.context?.engine)
        let table = table(notes)
        let (events, continuation) = AsyncStream.makeStream(of: Void.self)
        let token = notes.observeLoading([.finished]) { _, _ in continuation.yield() }
        let following = Task { await notes.follow(engine.updates(Request("notes"))) }
        var iterator = events.makeAsyncIterator()
        while !notes.isLoaded { _ = await iterator.next() }
        #expect(notes.map(\.id) == Array(0..<count) && table.batches == 8 && table.failure == nil)
        #expect(notes.core.application == nil)
        following.cancel()
        await following.value
        token.cancel()
    }
}
