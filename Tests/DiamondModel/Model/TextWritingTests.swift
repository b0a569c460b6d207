import Diamond
import DiamondTestSupport
import Foundation
import Testing

@testable import DiamondModel

@Suite("Texts of models") struct TextWritingTests {
    @Test func `an object of any shape has the text of its JSON, however it was read and changed`() throws {
        var random = SplitMix(state: Effort.seed)
        for _ in 0..<Effort.rounds(300, soaking: 30_000) {
            try check(City.self, HostileJSON.object(of: .city, &random), &random)
            try check(Wallet.self, HostileJSON.object(of: .wallet, &random), &random)
            try check(Shelf.self, shelf(&random), &random)
            try check(Crate.self, shelf(&random), &random)
        }
    }

    @Test func `a list of any elements has the text of its JSON`() throws {
        var random = SplitMix(state: Effort.seed)
        for round in 0..<Effort.rounds(100, soaking: 10_000) {
            let animals = ModelCollection<Animal>(context: round % 2 == 0 ? ModelContext() : nil)
            let list = JSONValue.array((0..<random.below(6)).map { _ in HostileJSON.element(&random) })
            if random.below(2) == 0 { try animals.set(list) } else { try animals.set(Data(list.description.utf8)) }
            if let animal = animals.allModels.randomElement(using: &random) { animals.remove(animal) }
            #expect(try text(animals.jsonText()) == animals.json.description, "seed \(Effort.seed): \(list)")
        }
    }

    @Test(arguments: OrderPart.allCases) func `a changed part is in the text`(part: OrderPart) throws {
        for hasContext in [false, true] {
            let data = Data(OrderPart.json.description.utf8)
            let order = try hasContext ? ModelContext().model(ByHand.Order.self, from: data) : ByHand.Order(json: data)
            order.change(part)
            #expect(try text(order.jsonText()) == order.json.description)
            let copy = order.copy()
            #expect(try text(copy.jsonText()) == copy.json.description)
        }
    }

    @Test func `a new object has the members of its properties, sorted`() throws {
        let shelf = Shelf()
        #expect(
            try text(shelf.jsonText()) == """
                {"a\\"b\\n":0,"counts":{},"link":null,"name":"","next":null,"ratio":0,"seen":"1970-01-01T00:00:00Z",\
                "size":0,"tags":[],"unit":"cm"}
                """)
        shelf.next = shelf
        shelf.counts = ["z": 1, "\u{1F600}": 2, "\u{FB33}": 3, "a": 4]
        #expect(try text(shelf.jsonText()) == shelf.json.description)
    }

    @Test func `members in nested objects, and a member of two properties, are in the text`() throws {
        let crate = Crate()
        #expect(try text(crate.jsonText()) == #"{"first":2,"geo":{"lat":0.5}}"#)
        let read = try Crate(json: Data(#"{"geo":{"lng":1,"lat":7}, "first":3}"#.utf8))
        #expect(try text(read.jsonText()) == #"{"first":3,"geo":{"lat":7,"lng":1}}"#)
        read.latitude = 8
        #expect(try text(read.jsonText()) == #"{"first":3,"geo":{"lat":8,"lng":1}}"#)
    }

    @Test func `a changed member replaces the one of the text, also if its name has escapes`() throws {
        let others = (0..<1000).map { "\"other\($0)\":\($0)" }.joined(separator: ",")
        let shelf = try Shelf(json: Data(#"{"\u006eame":"a",\#(others),"label":"c"}"#.utf8))
        shelf["name"] = "b"
        #expect(try text(shelf.jsonText()) == shelf.json.description)
        #expect(shelf.json.name == "b" && shelf.json.label == "c" && shelf.json.other999 == 999)
    }

    @Test func `an object that contains itself is its id there`() throws {
        let shelf = try Shelf(json: Data(#"{"id":7,"name":"a"}"#.utf8))
        shelf.next = shelf
        #expect(try text(shelf.jsonText()) == #"{"id":7,"name":"a","next":7}"#)
        #expect(shelf.snapshot["next"] == 7)
    }

    @Test func `an object in an object that it contains is its id there, in every form`() throws {
        let shelf = try Shelf(json: Data(#"{"id":7,"name":"a"}"#.utf8))
        let other = try Shelf(json: Data(#"{"id":8}"#.utf8))
        shelf.next = other
        other.next = shelf
        let json: JSONValue = ["id": 7, "name": "a", "next": ["id": 8, "next": 7]]
        #expect(shelf.json == json)
        #expect(try text(shelf.jsonText()) == json.description)
        #expect(shelf.changedJSON == ["next": ["id": 8, "next": 7]])
        #expect(shelf.creationJSON.next == ["id": 8, "next": 7])
        #expect(shelf.snapshot["next"]?.id == 8 && shelf.snapshot["next"]?.next == 7)
        let archived = try JSONDecoder().decode(Shelf.self, from: JSONEncoder().encode(shelf))
        #expect(archived.name == "a" && archived.next?.modelID == 8 && archived.next?.next == nil)
        let new = Shelf()
        new.next = new
        #expect(new.json.next == .null && new.snapshot["next"] == .null)
    }

    @Test func `a number that is not finite has no text`() throws {
        let shelf = Shelf()
        shelf.size = .infinity
        #expect { try shelf.jsonText() } throws: { ($0 as? ModelError)?.code == .notWritable }
        let shelves = ModelCollection<Shelf>()
        try shelves.add(shelf)
        #expect { try shelves.jsonText() } throws: { ($0 as? ModelError)?.code == .notWritable }
        shelf.size = 1
        shelf.ratio = .nan
        #expect(try text(shelf.jsonText()).contains(#""ratio":null"#))
    }

    private func check<M: Model>(_ type: M.Type, _ json: JSONValue, _ random: inout SplitMix) throws {
        let context = random.below(2) == 0 ? ModelContext() : nil
        let data = Data(json.description.utf8)
        let object =
            try random.below(3) > 0 ? JSONItem(modelText: data).modelObject() : JSONItem.value(json).modelObject()
        guard let model = try? context?.model(type, from: object) ?? M.decoded(from: object) else { return }
        let keys = model.snapshot.keys.sorted()
        for _ in 0..<3 {
            // First the text, because the JSON may replace the text of the members by their values.
            let text = try text(model.jsonText())
            #expect(text == model.json.description, "seed \(Effort.seed): \(json)")
            #expect(try text == self.text(model.jsonText()), "seed \(Effort.seed): \(json)")
            for key in keys where random.below(3) == 0 {
                model[key] = random.below(4) == 0 ? nil : HostileJSON.anything(&random)
            }
            if random.below(3) == 0 { try? model.merge(HostileJSON.object(of: .city, &random)) }
        }
    }

    private func shelf(_ random: inout SplitMix) -> JSONValue {
        var members: [String: JSONValue] = [:]
        for name in ["id", "name", "label", "tags", "seen", "geo", "first", "counts", "more", "\"", "", "\u{FB33}"]
        where random.below(3) > 0 {
            members[name] = HostileJSON.anything(&random)
        }
        return .object(members)
    }

    private func text(_ data: Data) -> String { String(decoding: data, as: UTF8.self) }
}

private final class Shelf: Model {
    enum Unit: String, Sendable { case cm, inch }

    static let name: Property<Shelf, String> = Property(\.name, "name", or: "label")
    static let tags: Property<Shelf, [String]> = Property(\.tags, "tags")
    static let counts: Property<Shelf, [String: Int]> = Property(\.counts, "counts")
    static let quoted: Property<Shelf, UInt64> = Property(\.quoted, "a\"b\n")
    static let seen: Property<Shelf, Date> = Property(\.seen, "seen")
    static let link: Property<Shelf, URL?> = Property(nullable: \.link, "link")
    static let unit: Property<Shelf, Unit> = Property(\.unit, "unit")
    static let ratio: Property<Shelf, Double> = Property(\.ratio, "ratio")
    static let size: Property<Shelf, Double> = Property(
        \.size, "size", codec: Codec(decode: { Double(json: $0) }, encode: { .number($0) }))
    static let next: Property<Shelf, Shelf?> = Property(nullable: \.next, "next")

    private var _name = ""
    private var _tags: [String] = []
    private var _counts: [String: Int] = [:]
    private var _quoted: UInt64 = 0
    private var _seen = Date(timeIntervalSince1970: 0)
    private var _link: URL?
    private var _unit = Unit.cm
    private var _ratio = 0.0
    private var _size = 0.0
    private var _next: Shelf?

    var name: String { read(Self.name, from: _name) }
    var tags: [String] { read(Self.tags, from: _tags) }
    var quoted: UInt64 { read(Self.quoted, from: _quoted) }
    var seen: Date { read(Self.seen, from: _seen) }
    var link: URL? { read(Self.link, from: _link) }
    var unit: Unit { read(Self.unit, from: _unit) }

    var counts: [String: Int] {
        get { read(Self.counts, from: _counts) }
        set { write(Self.counts, from: _counts, to: newValue) { _counts = $0 } }
    }

    var ratio: Double {
        get { read(Self.ratio, from: _ratio) }
        set { write(Self.ratio, from: _ratio, to: newValue) { _ratio = $0 } }
    }

    var size: Double {
        get { read(Self.size, from: _size) }
        set { write(Self.size, from: _size, to: newValue) { _size = $0 } }
    }

    var next: Shelf? {
        get { read(Self.next, from: _next) }
        set { write(Self.next, from: _next, to: newValue) { _next = $0 } }
    }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _name = visitor.visit(Self.name, with: _name)
        _tags = visitor.visit(Self.tags, with: _tags)
        _counts = visitor.visit(Self.counts, with: _counts)
        _quoted = visitor.visit(Self.quoted, with: _quoted)
        _seen = visitor.visit(Self.seen, with: _seen)
        _link = visitor.visit(Self.link, with: _link)
        _unit = visitor.visit(Self.unit, with: _unit)
        _ratio = visitor.visit(Self.ratio, with: _ratio)
        _size = visitor.visit(Self.size, with: _size)
        _next = visitor.visit(Self.next, with: _next)
    }
}

private final class Crate: Model {
    static let latitude: Property<Crate, Double> = Property(\.latitude, .path("geo", "lat"))
    static let first: Property<Crate, Int> = Property(\.first, "first")
    static let again: Property<Crate, Int> = Property(\.again, "first")

    private var _latitude = 0.5
    private var _first = 1
    private var _again = 2

    var first: Int { read(Self.first, from: _first) }
    var again: Int { read(Self.again, from: _again) }

    var latitude: Double {
        get { read(Self.latitude, from: _latitude) }
        set { write(Self.latitude, from: _latitude, to: newValue) { _latitude = $0 } }
    }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _latitude = visitor.visit(Self.latitude, with: _latitude)
        _first = visitor.visit(Self.first, with: _first)
        _again = visitor.visit(Self.again, with: _again)
    }
}
