import Diamond
import DiamondModel
import Foundation
import Testing

/// Objects that two readers could read differently: each is rejected, and the others are read.
@ModelActor
@Suite("Elements that cannot be read") struct UnreadableElementsTests {
    private nonisolated static let deep = String(repeating: "[", count: 200) + String(repeating: "]", count: 200)

    struct Mistake: Sendable {
        let text: String
        let reason: String
    }

    private nonisolated static let mistakes = [
        Mistake(text: #"{"id":2,"text":"\ud800"}"#, reason: "surrogate"),
        Mistake(text: #"{"id":2,"id":3,"text":"b"}"#, reason: "twice"),
        Mistake(text: #"{"id":2,"text":"b","stars":1e400}"#, reason: "1e400"),
        Mistake(text: "{\"id\":2,\"text\":\"b\",\"x\":\(deep)}", reason: "deeper"),
    ]

    @Test(arguments: mistakes, ["", "items"])
    func `a list keeps the other elements, and names the index and the reason`(
        _ mistake: Mistake, _ member: String
    ) async throws {
        let list = "[{\"id\":1,\"text\":\"a\"},\(mistake.text),{\"id\":3,\"text\":\"c\"}]"
        let api = StubAPI { _ in StubAPI.Answer(text: member.isEmpty ? list : "{\"items\":\(list),\"total\":3}") }
        let notes = ModelCollection<Note>(context: ModelContext(engine: api.engine))
        let format = member.isEmpty ? PageFormat() : PageFormat(items: "items", total: "total")
        notes.source = PageSource(api.engine, Request("notes"), format: format)
        try await notes.load()
        #expect(notes.map(\.id) == [1, 3])
        #expect(notes.rejected.map(\.index) == [1] && notes.rejected[0].error.code == .malformed)
        #expect(notes.rejected[0].error.message.contains(mistake.reason), "\(notes.rejected[0].error)")
        #expect(notes.json.description.contains(mistake.text))
        let copy = try JSONDecoder().decode(ModelCollection<Note>.self, from: JSONEncoder().encode(notes))
        #expect(copy.map(\.id) == [1, 3])
    }

    @Test(
        arguments: [
            Mistake(text: #""\ud800""#, reason: "surrogate"), Mistake(text: "1e400", reason: "1e400"),
            Mistake(text: deep, reason: "deeper"), Mistake(text: #"[{"a":1,"a":2},"\udc00"]"#, reason: "surrogate"),
            Mistake(text: "[[1e400],2]", reason: "1e400"),
        ] + mistakes)
    func `a text of a list keeps the other elements, whatever the bad one is`(_ mistake: Mistake) async throws {
        let list = "[{\"id\":1,\"text\":\"a\"}, \(mistake.text) ,{\"id\":3,\"text\":\"c\"}]"
        let notes = ModelCollection<Note>(context: ModelContext())
        for attempt in 0..<3 {
            switch attempt {
            case 0: try notes.upsert(Data(list.utf8))
            case 1: try notes.set(Data(list.utf8))
            default:
                let api = StubAPI { _ in StubAPI.Answer(text: list) }
                notes.source = PageSource(api.engine, Request("notes"))
                try await notes.load()
            }
            #expect(notes.map(\.id) == [1, 3] && notes.rejected.map(\.index) == [1], "\(attempt)")
            #expect(notes.rejected.allSatisfy { $0.error.message.contains(mistake.reason) }, "\(notes.rejected)")
            #expect(notes.json.description.contains(mistake.text))
        }
    }

    @Test(arguments: mistakes)
    func `a nested collection keeps the other elements, and a repair has the reason`(
        _ mistake: Mistake
    ) throws {
        let text = "{\"id\":1,\"notes\":[{\"id\":1,\"text\":\"a\"},\(mistake.text)],\"cover\":\(mistake.text)}"
        let album = try ModelContext().model(Album.self, from: Data(text.utf8))
        #expect(album.notes.map(\.id) == [1])
        let repairs = album.repairs.filter { $0.path == "notes[1]" || $0.path == "cover" }
        #expect(
            repairs.count == 2 && repairs.allSatisfy { $0.description.contains(mistake.reason) }, "\(album.repairs)")
        #expect(try String(decoding: album.jsonText(), as: UTF8.self).contains(mistake.text))
    }

    @Test(arguments: mistakes)
    func `a single object is refused by name, and nothing is changed`(_ mistake: Mistake)
        async throws
    {
        let api = StubAPI { _ in StubAPI.Answer(text: mistake.text) }
        let context = ModelContext(engine: api.engine)
        let note: Note = try context.model(from: ["id": 2, "text": "milk"])
        for attempt in 0..<3 {
            let error = await #expect(throws: (any Error).self) {
                switch attempt {
                case 0: try await note.load()
                case 1: try await note.save { $0.text = "bread" }
                default: try note.merge(Data(mistake.text.utf8))
                }
            }
            #expect(error.map { "\($0)".contains(mistake.reason) } == true, "\(attempt): \(String(describing: error))")
            #expect(note.text == "milk" && !note.isDirty)
        }
        #expect(throws: ModelError.self) { try Note(json: Data(mistake.text.utf8)) }
    }

    @Test func `a page whose body is no list is refused with the reason`() async throws {
        let api = StubAPI { _ in StubAPI.Answer(text: #"{"items":[],"next":"\ud800"}"#) }
        let notes = ModelCollection<Note>(context: ModelContext(engine: api.engine))
        notes.source = PageSource(api.engine, Request("notes"), format: PageFormat(items: "items"))
        let error = await #expect(throws: (any Error).self) { try await notes.load() }
        #expect("\(error.map { "\($0)" } ?? "")".contains("surrogate"))
    }
}
