import Diamond
import DiamondModel
import Testing

/// Models that conform to protocols with requirements of their properties' names. Compiling them is the test.
@Suite("Models that conform to protocols") struct ProtocolPropertyTests {
    @Test func `a model written by hand conforms to a protocol of another file that requires its properties`() throws {
        let book = try Book(json: ["title": "Genji", "rank": 7, "tags": ["old"], "mood": "wild"])
        #expect(TitledReader.heading(of: book) == "Genji# Genji")
        let ranked: any Ranked = book
        ranked.rank = 8
        #expect(ranked.tags == ["old"] && ranked.mood == .wild && book.changedJSON == ["rank": 8])
    }

    #if Macros
    @Test func `a model written by the macro conforms to a protocol of another file`() throws {
        let book = try ByMacro.Book(json: ["title": "Genji", "rank": 7, "tags": ["old"], "mood": "wild"])
        #expect(TitledReader.heading(of: book) == "Genji# Genji")
        let ranked: any Ranked = book
        ranked.mood = .calm
        #expect(ranked.rank == 7 && ranked.tags == ["old"] && book.changedJSON == ["mood": "calm"])
    }
    #endif
}

final class Book: Model, Titled, Ranked {
    static let title: Property<Book, String> = Property(\.title, "title")
    static let rank: Property<Book, Int> = Property(\.rank, "rank")
    static let tags: Property<Book, [String]> = Property(\.tags, "tags", access: .server)
    static let mood: Property<Book, Mood> = Property(\.mood, "mood")

    private var _title = ""
    private var _rank = 0
    private var _tags: [String] = []
    private var _mood = Mood.calm

    var title: String {
        get { read(Self.title, from: _title) }
        set { write(Self.title, from: _title, to: newValue) { _title = $0 } }
    }

    var rank: Int {
        get { read(Self.rank, from: _rank) }
        set { write(Self.rank, from: _rank, to: newValue) { _rank = $0 } }
    }

    var tags: [String] { read(Self.tags, from: _tags) }

    var mood: Mood {
        get { read(Self.mood, from: _mood) }
        set { write(Self.mood, from: _mood, to: newValue) { _mood = $0 } }
    }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _title = visitor.visit(Self.title, with: _title)
        _rank = visitor.visit(Self.rank, with: _rank)
        _tags = visitor.visit(Self.tags, with: _tags)
        _mood = visitor.visit(Self.mood, with: _mood)
    }
}

#if Macros
extension ByMacro {
    @Modeled final class Book: Model, Titled, Ranked {
        var title = ""
        var rank = 0
        @Server var tags: [String] = []
        var mood = Mood.calm
    }
}
#endif
