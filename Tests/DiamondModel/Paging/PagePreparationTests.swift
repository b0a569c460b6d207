import Diamond
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import DiamondModel

/// Long pages that are applied at once are read in pieces, between which other work of the isolation domain runs.
@ModelActor
@Suite("The preparation of a page", .limit(minutes: 5)) struct PagePreparationTests {
    private nonisolated static func text(_ ids: Range<Int>, text: String = "x") -> String {
        "[\(ids.map { "{\"id\":\($0),\"text\":\"\(text)\"}" }.joined(separator: ","))]"
    }

    private func notes(_ count: Int, context: ModelContext? = nil) -> ModelCollection<Note> {
        let api = StubAPI { _ in StubAPI.Answer(text: Self.text(0..<count)) }
        let notes = ModelCollection<Note>(context: context ?? ModelContext(engine: api.engine))
        notes.source = PageSource(api.engine, Request("notes"))
        notes.appliesPagesAtOnce = true
        return notes
    }

    @Test func `other work runs between the pieces of a long list, and a table gets one change set`() async throws {
        let count = 20 * PagePreparation.pieceSize
        let notes = notes(count)
        var sets = 0
        let token = notes.observe { _ in sets += 1 }
        var turns = 0
        let other = Task {
            while !notes.isLoaded {
                if notes.core.preparation != nil { turns += 1 }
                await Task.yield()
            }
        }
        try await notes.load()
        await other.value
        #expect(notes.map(\.id) == Array(0..<count) && sets == 1)
        #expect(turns >= 10 && notes.core.preparation == nil)
        _ = token
    }

    @Test func `an object that becomes live between the pieces is merged, and stays the same`() async throws {
        let count = 4 * PagePreparation.pieceSize
        let notes = notes(count)
        let context = try #require(notes.context)
        var early: Note?
        let other = Task {
            while !notes.isLoaded {
                if notes.core.preparation?.models[0] != nil, early == nil {
                    early = try? context.model(from: ["id": 0, "text": "early", "stars": 3])
                }
                await Task.yield()
            }
        }
        try await notes.load()
        await other.value
        let note = try #require(early)
        #expect(notes[0] === note && note.text == "x" && note.stars == 3 && notes.count == count)
    }

    @Test func `each caller of one load may read the pieces`() async throws {
        let count = 6 * PagePreparation.pieceSize
        let notes = notes(count)
        let first = Task { try await notes.load() }
        let second = Task { try await notes.load() }
        try await first.value
        try await second.value
        #expect(notes.count == count && notes.allModels.allSatisfy { $0.context === notes.context })
    }

    @Test func `an element that is added between the pieces has its own values`() async throws {
        let notes = notes(4 * PagePreparation.pieceSize)
        var early: [Note] = []
        let other = Task {
            while !notes.isLoaded {
                if notes.core.preparation?.models[0] != nil, early.isEmpty {
                    try notes.upsert(Data(#"[{"id":0,"text":"early","stars":3}]"#.utf8))
                    early = Array(notes)
                    #expect(early.map(\.text) == ["early"] && early.map(\.stars) == [3])
                }
                await Task.yield()
            }
        }
        try await notes.load()
        try await other.value
        #expect(early.count == 1 && notes[0] === early.first && notes[0].text == "x" && notes[0].stars == 3)
    }

    @Test func `of two objects with one id in a long list, the first counts`() async throws {
        let count = 2 * PagePreparation.pieceSize
        let list = Self.text(0..<count).dropLast() + "," + Self.text(0..<1, text: "later").dropFirst()
        let api = StubAPI { _ in StubAPI.Answer(text: String(list)) }
        let notes = ModelCollection<Note>(context: ModelContext(engine: api.engine))
        notes.source = PageSource(api.engine, Request("notes"))
        notes.appliesPagesAtOnce = true
        try await notes.load()
        #expect(notes.count == count && notes[0].text == "x" && notes.rejected.map(\.index) == [count])
    }

    @Test(arguments: [false, true])
    func `a prepared model is taken only for its own object`(isText: Bool) throws {
        let row: JSONValue = ["id": 1, "text": "x"]
        let item = isText ? try JSONItem(reading: Data(row.description.utf8)) : .value(row)
        for object in [try item.modelObject(), ObjectMembers(["id": 1, "text": "y"])] {
            var page = Page(items: [])
            page.content = [item]
            let preparation = PagePreparation(page, of: nil)
            #expect(!preparation.readPiece(of: Note.self, in: ModelContext()) && preparation.models.count == 1)
            let model = preparation.take(1, for: object)
            #expect((model == nil) == (object["text"] == "y") && preparation.models.isEmpty)
        }
    }

    @Test func `a piece has fewer objects if they are large`() throws {
        let text = Self.text(0..<3, text: String(repeating: "x", count: PagePreparation.pieceLength * 3 / 4))
        var page = Page(items: [])
        page.content = try #require(JSONItem(reading: Data(text.utf8)).elements)
        let preparation = PagePreparation(page, of: nil)
        let context = ModelContext()
        #expect(preparation.readPiece(of: Note.self, in: context) && preparation.models.count == 2)
        #expect(!preparation.readPiece(of: Note.self, in: context) && preparation.models.count == 3)
    }

    @Test func `a load that is canceled between the pieces throws, and changes nothing`() async throws {
        let notes = notes(20 * PagePreparation.pieceSize)
        let other = Task {
            while notes.core.preparation == nil, !notes.isLoaded { await Task.yield() }
            notes.cancel()
        }
        await #expect(throws: CancellationError.self) { try await notes.load() }
        await other.value
        #expect(notes.isEmpty && !notes.isLoaded && !notes.isLoading && notes.core.preparation == nil)
    }

    @Test func `a caller whose load is replaced between the pieces waits for the other one`() async throws {
        let count = 20 * PagePreparation.pieceSize
        let notes = notes(count)
        var isReplaced = false
        let other = Task {
            while notes.core.preparation == nil, !notes.isLoaded { await Task.yield() }
            isReplaced = !notes.isLoaded
            try await notes.load(policy: .reload)
        }
        try await notes.load()
        #expect(isReplaced && notes.isLoaded && notes.count == count)
        try await other.value
        #expect(notes.core.preparation == nil)
    }

    @Test func `models with nested ones are read when the list is applied`() async throws {
        let count = 2 * PagePreparation.pieceSize
        let text = "[\((0..<count).map { "{\"id\":\($0),\"cover\":{\"name\":\"c\"}}" }.joined(separator: ","))]"
        let api = StubAPI { _ in StubAPI.Answer(text: text) }
        let albums = ModelCollection<Album>(context: ModelContext(engine: api.engine))
        albums.source = PageSource(api.engine, Request("albums"))
        albums.appliesPagesAtOnce = true
        try await albums.load()
        #expect(albums.count == count && albums.allModels.allSatisfy { $0.cover.name == "c" })
    }
}
