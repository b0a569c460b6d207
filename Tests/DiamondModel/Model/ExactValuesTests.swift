import Diamond
import DiamondModel
import Foundation
import Testing

/// Numbers and texts that other readers round or unify.
@ModelActor
@Suite("Exact values") struct ExactValuesTests {
    // MARK: Numbers

    @Test(
        arguments: [
            "9223372036854775807", "9223372036854775808", "9223372036854775809", "9223372036854776000",
            "18446744073709551615", "9007199254740993",
        ])
    func `an unsigned property reads and writes every digit`(_ digits: String) throws {
        let ledger = try ledger(#"{"id":1,"total":\#(digits)}"#)
        #expect(ledger.total == UInt64(digits) && ledger.repairs.allSatisfy { $0.path != "total" })
        let other = Ledger()
        other.total = ledger.total
        #expect(try String(decoding: other.jsonText(), as: UTF8.self).contains("\"total\":\(digits)"))
    }

    @Test(arguments: [
        "12345678901234567890", "3.141592653589793238", "1e-400", "18446744073709551616",
        "-170141183460469231731687303715884105728", "4.50",
    ]) func `an unknown number is sent back with the digits that were read`(_ digits: String) async throws {
        let api = StubAPI { _ in StubAPI.Answer(204) }
        let context = ModelContext(engine: api.engine)
        let text = #"{"deep":{"ref":[\#(digits)]},"id":1,"ref":\#(digits)}"#
        let ledger = try context.model(Ledger.self, from: Data(text.utf8))
        let expected = digits == "4.50" ? "4.5" : digits
        #expect(try String(decoding: ledger.jsonText(), as: UTF8.self).contains(#""ref":\#(expected)}"#))
        try await ledger.save(as: .replace) { $0.small = 3 }
        if digits != "1e-400" {
            #expect(api.calls.first?.body?["ref"] == ledger.json["ref"])
            #expect(api.calls.first?.body?["deep"] == ledger.json["deep"])
        }
        try ledger.merge(["small": 4])
        #expect(try ledger.json["ref"] == JSONValue(reading: Data(digits.utf8)))
    }

    @Test func `a model keeps its digits in its Codable form`() throws {
        let text = #"{"id":18446744073709551615,"ref":12345678901234567890,"share":0.1,"total":9223372036854775809}"#
        let ledger = try ledger(text)
        let copy = try JSONDecoder().decode(Ledger.self, from: JSONEncoder().encode(ledger))
        #expect(copy.json == ledger.json && copy.total == 9_223_372_036_854_775_809)
        #expect(copy.serverID == ledger.serverID)
        let list = try PropertyListDecoder().decode(Ledger.self, from: PropertyListEncoder().encode(ledger))
        #expect(list.json == ledger.json)
    }

    @Test func `a queued request keeps the digits of a body`() async throws {
        let api = QueuedAPI()
        let program = try api.start()
        let ledger = try program.context.model(
            Ledger.self, from: Data(#"{"id":7,"ref":12345678901234567890}"#.utf8))
        api.isOnline = false
        try await ledger.save(.queued, as: .replace) { $0.total = .max }
        api.isOnline = true
        try await program.drain(Ledger.self)
        #expect(api.calls.last?.body?["ref"]?.description == "12345678901234567890")
        #expect(api.calls.last?.body?["total"]?.description == "18446744073709551615")
    }

    @Test func `an integer beyond the range of its type is a repair`() {
        func ends<Integer: ModelValue & FixedWidthInteger>(_ type: Integer.Type) {
            let (least, most) = (Integer.min, Integer.max)
            #expect(Integer(json: least.json) == least && Integer(json: most.json) == most, "\(type)")
            for beyond in [String(most).incremented, Integer.isSigned ? String(least).incremented : "-1"] {
                let json = try? JSONValue(reading: Data(beyond.utf8))
                #expect(json.flatMap { Integer(json: $0) } == nil, "\(type) \(beyond)")
            }
        }
        ends(Int8.self)
        ends(Int16.self)
        ends(Int32.self)
        ends(Int64.self)
        ends(Int.self)
        ends(UInt8.self)
        ends(UInt16.self)
        ends(UInt32.self)
        ends(UInt64.self)
        ends(UInt.self)
        #expect(UInt64(json: 2.0) == 2 && UInt64(json: 2.5) == nil && UInt64(json: 1.8446744073709552e19) == nil)
        #expect(UInt64(json: .number(9.2233720368547764e18)) == 9_223_372_036_854_776_000)
    }

    @Test func `a floating-point property reads the nearest number, and a number beyond its range is a repair`() throws
    {
        #expect(Float(json: 1e39) == nil && Float(json: -1e39) == nil && Float(json: 3.4028234663852886e38) != nil)
        #expect(try Float(json: JSONValue(reading: Data("1000000000000000000000000000000000000000".utf8))) == nil)
        #expect(try Double(json: JSONValue(reading: Data("3.141592653589793238".utf8))) == 3.141592653589793)
        #expect(try Double(json: JSONValue(reading: Data("18446744073709551615".utf8))) == 0x1p64)
        let ledger = try ledger(#"{"id":1,"share":1e39}"#)
        #expect(ledger.share == 0 && ledger.repairs.contains { $0.path == "share" && $0.reason == .wrongType })
        #expect(ledger.json["share"] == 1e39)
    }

    @Test(arguments: [
        "0.1", "12345678901234567890.12", "-0.000000000000000000000000000001", "99999999999999999999999999999999999999",
        "3", "-7e30",
    ]) func `a decimal property reads and writes every digit`(_ digits: String) throws {
        let ledger = try ledger(#"{"id":1,"price":\#(digits)}"#)
        #expect(ledger.price == Decimal(string: digits))
        let other = Ledger()
        other.price = ledger.price
        #expect(try other.json["price"] == JSONValue(reading: Data(digits.utf8)))
    }

    @Test(arguments: ["923456789012345678901234567890123456789", "1e300", "\"1\"", "true"])
    func `a number that no decimal holds is a repair`(_ text: String) throws {
        let ledger = try ledger(#"{"id":1,"price":\#(text)}"#)
        #expect(ledger.price == 0 && ledger.repairs.contains { $0.path == "price" })
        #expect(try ledger.json["price"] == JSONValue(reading: Data(text.utf8)))
    }

    // MARK: Ids

    @Test(arguments: [
        "9223372036854775808", "18446744073709551615", "340282366920938463463374607431768211455",
        "10000000000000000000000", "-9223372036854775809",
    ]) func `an integer beyond 64 bits is an id, with all digits`(_ digits: String) async throws {
        let api = StubAPI { _ in StubAPI.Answer(204) }
        let context = ModelContext(engine: api.engine)
        let ledger = try context.model(Ledger.self, from: Data(#"{"id":\#(digits)}"#.utf8))
        #expect(ledger.modelID.description == digits && ledger.modelID == ModelID(digits))
        #expect(try context.model(Ledger.self, from: ["id": .string(digits)]) === ledger)
        #expect(try JSONDecoder().decode(ModelID.self, from: JSONEncoder().encode(ledger.modelID)) == ledger.modelID)
        #expect(try JSONValue(reading: JSONEncoder().encode([ModelID(digits)])) == [.string(digits)])
        try await ledger.save { $0.small = 1 }
        #expect(api.calls.map(\.path) == ["ledgers/\(digits)"])
        #expect(ModelID(digits) != ModelID("0" + digits))
    }

    @Test func `an id that a Location field names may exceed Int64`() async throws {
        let api = StubAPI { _ in StubAPI.Answer(201, headers: [.location: "/ledgers/18446744073709551615"]) }
        let context = ModelContext(engine: api.engine)
        let ledger = Ledger()
        try context.register(ledger)
        try await ledger.save { $0.small = 1 }
        #expect(ledger.serverID == ModelID(UInt64.max) && ledger.id == .max)
        #expect(ledger.json["id"] == JSONValue(UInt64.max))
    }

    // MARK: Texts

    private static let composed = "zo\u{EB}"
    private static let decomposed = "zoe\u{308}"

    @Test func `ids that only look the same are two objects`() throws {
        let context = ModelContext()
        let notes = ModelCollection<Ledger>(context: context)
        try notes.set([["id": .string(Self.composed), "small": 1], ["id": .string(Self.decomposed), "small": 2]])
        #expect(notes.count == 2 && notes.rejected.isEmpty)
        #expect(notes[id: ModelID(Self.composed)]?.small == 1 && notes[id: ModelID(Self.decomposed)]?.small == 2)
        #expect(ModelID(Self.composed) != ModelID(Self.decomposed))
        let parents = [Self.composed, Self.decomposed].map { ParentReference<Ledger>(id: ModelID($0)) }
        #expect(parents[0] != parents[1] && parents[1].model(in: context)?.small == 2)
    }

    @Test func `setting a text that only looks the same is a change`() throws {
        let ledger = try ledger(#"{"id":1,"name":"zo\#u{EB}","names":["zo\#u{EB}"],"alias":"zo\#u{EB}","tags":["a"]}"#)
        ledger.name = Self.decomposed
        ledger.names = [Self.decomposed]
        ledger.alias = Self.decomposed
        ledger.marks = [Self.composed: 1]
        ledger.marks = [Self.decomposed: 1]
        #expect(ledger.name.utf8.elementsEqual(Self.decomposed.utf8))
        #expect(ledger.names[0].utf8.elementsEqual(Self.decomposed.utf8))
        #expect(ledger.alias?.utf8.elementsEqual(Self.decomposed.utf8) == true)
        #expect(ledger.marks.keys.first?.utf8.elementsEqual(Self.decomposed.utf8) == true)
        #expect(Set(ledger.dirtyProperties.map(\.key)) == ["name", "names", "alias", "marks"])
        ledger.name = Self.composed
        ledger.names = [Self.composed]
        ledger.alias = Self.composed
        ledger.marks = [:]
        #expect(!ledger.isDirty)
    }

    @Test func `setting tags that only look the same is a change, and setting equal ones is none`() throws {
        let ledger = try ledger(#"{"id":1,"tags":["a","b","c","zo\#u{EB}"]}"#)
        ledger.tags = Set(["zo\u{EB}", "c", "b", "a"])
        #expect(!ledger.isDirty)
        ledger.tags = Set([Self.decomposed, "c", "b", "a"])
        #expect(ledger.isDirty && ledger.tags.contains { $0.utf8.elementsEqual(Self.decomposed.utf8) })
    }

    @Test func `a merge takes a text that only looks the same`() throws {
        let ledger = try ledger(#"{"id":1,"name":"zo\#u{EB}"}"#)
        try ledger.merge(["name": .string(Self.decomposed)])
        #expect(ledger.name.utf8.elementsEqual(Self.decomposed.utf8))
    }

    @Test func `a member whose name only looks like a key is not the property's`() throws {
        let label = try Labeled(json: ["zoe\u{308}": "other", "\u{212A}ey": "kelvin"])
        #expect(label.name == "" && label.code == "")
        #expect(label.repairs.map(\.reason) == [.missing, .missing])
        let named = try Labeled(json: ["zo\u{EB}": "own", "Key": "k"])
        #expect(named.name == "own" && named.code == "k" && named.repairs.isEmpty)
        try named.merge(["\u{212A}ey": "kelvin"])
        #expect(named.code == "k" && named.json["Key"] == "k")
    }

    @Test func `an enum is read only from the bytes of its raw value`() {
        #expect(Kind(json: .string(Self.composed)) == .zoë && Kind(json: .string(Self.decomposed)) == nil)
    }

    @Test(arguments: [("red", "red"), ("RED", "red")])
    func `a raw value may be normalized`(_ text: String, _ rawValue: String) {
        #expect(Shade(json: .string(text))?.rawValue == rawValue)
    }

    @Test func `the Codable form leaves out unreadable objects, and rounds numbers of more than 38 digits`() throws {
        let digits = "3.14159265358979323846264338327950288419716939937510"
        let context = ModelContext()
        let text = #"{"id":1,"deep":{"list":[{"a":1,"a":2},{"b":1}],"bad":{"a":1,"a":2}},"pi":\#(digits)}"#
        let ledger = try context.model(Ledger.self, from: Data(text.utf8))
        let copy = try JSONDecoder().decode(Ledger.self, from: JSONEncoder().encode(ledger))
        #expect(copy.json["deep"] == ["list": [["b": 1]]] && copy.json["pi"] == .number(.pi))
        let ledgers = ModelCollection<Ledger>(context: context)
        try ledgers.append(ledger)
        let copies = try JSONDecoder().decode(ModelCollection<Ledger>.self, from: JSONEncoder().encode(ledgers))
        #expect(copies.first?.json == copy.json)
    }

    @Test func `objects and identities that only look the same have their own calls in the queue`() async throws {
        let api = QueuedAPI()
        let program = try api.start()
        api.isOnline = false
        var ledgers: [Ledger] = []
        for text in [Self.composed, Self.decomposed] {
            let ledger: Ledger = try program.context.model(from: ["id": .string(text)])
            try await ledger.save(.queued) { $0.small = 1 }
            ledgers.append(ledger)
        }
        #expect(try await ledgers[0].queuedJobs().count == 1)
        #expect(try await ledgers[1].queuedJobs().count == 1)
        #expect(try program.waiting.count == 2)
        let named = try api.start(as: Self.composed)
        let other: Ledger = try named.context.model(from: ["id": 9])
        try await other.save(.queued) { $0.small = 1 }
        named.session.signIn(Self.decomposed)
        let error = await #expect(throws: ModelError.self) { try await other.save(.queued) { $0.small = 2 } }
        #expect(error?.code == .otherIdentity)
    }

    private func ledger(_ text: String) throws -> Ledger { try Ledger(json: Data(text.utf8)) }
}

extension String {
    /// The digits of the integer whose magnitude is greater by one.
    fileprivate var incremented: String {
        var digits = Array(utf8)
        var index = digits.count - 1
        while index >= 0, digits[index] == UInt8(ascii: "9") {
            digits[index] = UInt8(ascii: "0")
            index -= 1
        }
        guard index >= 0, digits[index] != UInt8(ascii: "-") else { return "" }
        digits[index] += 1
        return String(decoding: digits, as: UTF8.self)
    }
}

/// A raw type that normalizes its text.
private struct Shade: RawRepresentable, ModelValue {
    let rawValue: String

    init(rawValue: String) { self.rawValue = rawValue.lowercased() }
}

private enum Kind: String, ModelValue {
    case zoë = "zo\u{EB}"
}

/// A model with numbers of several types.
final class Ledger: Model {
    static let id = Property(\Ledger.id, "id", access: .server)
    static let total = Property(\Ledger.total, "total")
    static let small = Property(\Ledger.small, "small")
    static let share = Property(\Ledger.share, "share")
    static let price = Property(\Ledger.price, "price")
    static let name = Property(\Ledger.name, "name")
    static let names = Property(\Ledger.names, "names")
    static let alias = Property(nullable: \Ledger.alias, "alias")
    static let marks = Property(\Ledger.marks, "marks")
    static let tags = Property(\Ledger.tags, "tags", codec: .tags)

    private var _id: UInt64 = 0
    private var _total: UInt64 = 0
    private var _small: Int8 = 0
    private var _share: Float = 0
    private var _price: Decimal = 0
    private var _name = ""
    private var _names: [String] = []
    private var _alias: String?
    private var _marks: [String: Int] = [:]
    private var _tags: Set<String> = []

    var id: UInt64 { read(Self.id, from: _id) }

    var total: UInt64 {
        get { read(Self.total, from: _total) }
        set { write(Self.total, from: _total, to: newValue) { _total = $0 } }
    }

    var small: Int8 {
        get { read(Self.small, from: _small) }
        set { write(Self.small, from: _small, to: newValue) { _small = $0 } }
    }

    var share: Float {
        get { read(Self.share, from: _share) }
        set { write(Self.share, from: _share, to: newValue) { _share = $0 } }
    }

    var price: Decimal {
        get { read(Self.price, from: _price) }
        set { write(Self.price, from: _price, to: newValue) { _price = $0 } }
    }

    var name: String {
        get { read(Self.name, from: _name) }
        set { write(Self.name, from: _name, to: newValue) { _name = $0 } }
    }

    var names: [String] {
        get { read(Self.names, from: _names) }
        set { write(Self.names, from: _names, to: newValue) { _names = $0 } }
    }

    var alias: String? {
        get { read(Self.alias, from: _alias) }
        set { write(Self.alias, from: _alias, to: newValue) { _alias = $0 } }
    }

    var marks: [String: Int] {
        get { read(Self.marks, from: _marks) }
        set { write(Self.marks, from: _marks, to: newValue) { _marks = $0 } }
    }

    var tags: Set<String> {
        get { read(Self.tags, from: _tags) }
        set { write(Self.tags, from: _tags, to: newValue) { _tags = $0 } }
    }

    override class var resource: Request? { Request("ledgers") }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _id = visitor.visit(Self.id, with: _id)
        _total = visitor.visit(Self.total, with: _total)
        _small = visitor.visit(Self.small, with: _small)
        _share = visitor.visit(Self.share, with: _share)
        _price = visitor.visit(Self.price, with: _price)
        _name = visitor.visit(Self.name, with: _name)
        _names = visitor.visit(Self.names, with: _names)
        _alias = visitor.visit(Self.alias, with: _alias)
        _marks = visitor.visit(Self.marks, with: _marks)
        _tags = visitor.visit(Self.tags, with: _tags)
    }
}

extension Codec where Value == Set<String> {
    fileprivate static var tags: Codec {
        Codec(decode: { [String](json: $0).map { Set($0) } }, encode: { Array($0).json })
    }
}

/// A model whose keys have characters with equivalents.
private final class Labeled: Model {
    static let name = Property(\Labeled.name, "zo\u{EB}")
    static let code = Property(\Labeled.code, "Key")

    private var _name = ""
    private var _code = ""

    var name: String {
        get { read(Self.name, from: _name) }
        set { write(Self.name, from: _name, to: newValue) { _name = $0 } }
    }

    var code: String {
        get { read(Self.code, from: _code) }
        set { write(Self.code, from: _code, to: newValue) { _code = $0 } }
    }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _name = visitor.visit(Self.name, with: _name)
        _code = visitor.visit(Self.code, with: _code)
    }
}
