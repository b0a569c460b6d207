import Diamond
import DiamondModel
import DiamondTestSupport
import Foundation
import Testing

/// JSON of every wrong shape: it is repaired and recorded, or a clear error, and no row gets lost.
@Suite("JSON of every wrong shape") struct HostileJSONTests {
    @Test func `a JSON object of any shape is written back as it was read`() throws {
        var random = SplitMix(state: Effort.seed)
        for _ in 0..<Effort.rounds(600, soaking: 100_000) {
            let json = HostileJSON.object(of: .city, &random)
            let city = try City(json: json)
            #expect(city.json == json, "seed \(Effort.seed)")
            #expect(HostileJSON.isAccounted(city, json), "seed \(Effort.seed): \(json)")
            #expect(city.copy().json == json && city.isEqual(to: city.copy()))
            if city.json != json { return }
        }
    }

    @Test func `a merge of JSON of any shape is applied as a whole, or changes nothing`() throws {
        var random = SplitMix(state: Effort.seed)
        for _ in 0..<Effort.rounds(60, soaking: 10_000) {
            let context = ModelContext()
            var wallets: [Wallet] = []
            for id in 1...3 { wallets.append(try context.model(from: ["id": .integer(Int64(id)), "limit": 1])) }
            for _ in 0..<10 {
                let json = HostileJSON.object(of: .wallet, &random)
                let before = wallets.map(\.json)
                let wallet = wallets[random.below(wallets.count)]
                do {
                    try wallet.merge(json)
                    #expect(HostileJSON.isAccounted(wallet.accounts, json["accounts"]), "seed \(Effort.seed): \(json)")
                } catch {
                    #expect(error is ModelError)
                    #expect(wallets.map(\.json) == before, "seed \(Effort.seed): \(json)")
                }
                #expect(wallet.limit != 0 && wallet.serverID != nil && wallet.context === context)
            }
            for wallet in wallets { wallet.accounts.removeAll() }
        }
    }

    @Test func `JSON elements of any shape become rows or are rejected, and are never lost`() throws {
        var random = SplitMix(state: Effort.seed)
        for round in 0..<Effort.rounds(150, soaking: 20_000) {
            let animals = ModelCollection<Animal>(context: round % 2 == 0 ? ModelContext() : nil)
            for _ in 0..<4 {
                let elements = (0..<random.below(6)).map { _ in HostileJSON.element(&random) }
                if random.below(3) == 0 {
                    try animals.set(.array(elements))
                    #expect(animals.count + animals.rejected.count == elements.count, "seed \(Effort.seed)")
                } else {
                    try animals.upsert(.array(elements))
                }
                for element in elements {
                    let id = element["id"].flatMap { ModelID(json: $0) }
                    #expect(
                        id.map { animals[id: $0] != nil } ?? false || animals.rejected.contains { $0.json == element },
                        "seed \(Effort.seed): \(element)")
                }
                #expect(Set(animals.map(\.modelID)).count == animals.count)
            }
        }
    }

    @Test(arguments: [
        #"{"id": 1, "id": 2}"#, #"{"name": 1e999}"#, #"{"name": -}"#, "[1]", "\u{FEFF}7", #"{"a": "\uD800"}"#,
        #"{"districts":"# + String(repeating: "[", count: 200) + String(repeating: "]", count: 200) + "}",
    ]) func `text that is no usable JSON is an error, and a merge of it changes nothing`(text: String) throws {
        let city = try City(json: ["id": 1, "name": "Nara"])
        #expect { try City(json: Data(text.utf8)) } throws: { ($0 as? ModelError)?.code == .malformed }
        #expect { try city.merge(Data(text.utf8)) } throws: { ($0 as? ModelError)?.code == .malformed }
        #expect(city.json == ["id": 1, "name": "Nara"])
    }

    @Test func `models nest as deep as the JSON reader allows`() throws {
        // Two levels of JSON each, and one for the innermost name.
        let depth = 63
        let text =
            String(repeating: #"{"id":1,"others":["#, count: depth) + #"{"id":2}"#
            + String(repeating: "]}", count: depth)
        let ring = try Ring(json: Data(text.utf8))
        #expect(try JSONValue(reading: Data(text.utf8)) == ring.json)
        #expect(ring.copy().isEqual(to: ring) && !ring.isDirty)
        let context = ModelContext()
        let live: Ring = try context.model(from: Data(text.utf8))
        // All but the innermost are one object, which contains itself and the innermost in the end.
        #expect(live.others.allModels.map(\.modelID) == [2] || live.others.allModels.map(\.modelID) == [1])
        live.leaveCollections()
        live.others.removeAll()
    }

    @Test func `a member that is nested too deeply is kept as it is`() throws {
        let text = String(repeating: #"{"mayor":"#, count: 200) + "1" + String(repeating: "}", count: 200)
        let city = try City(json: Data(text.utf8))
        #expect(try city.jsonText() == Data(text.utf8))
    }

    @Test func `huge numbers are kept as they are, and repaired where a type does not hold them`() throws {
        let text = #"{"id":9223372036854775807,"name":"A","population":18446744073709551616,"area":1e308}"#
        let city = try ModelContext().model(City.self, from: Data(text.utf8))
        #expect(city.id == .max && city.population == 0)
        #expect(city.repairs.contains { $0.path == "population" && $0.reason == .wrongType })
        #expect(try city.json == JSONValue(reading: Data(text.utf8)))
        let beyond = try ModelContext().model(City.self, from: Data(#"{"id":9223372036854775808}"#.utf8))
        #expect(
            beyond.modelID == "9223372036854775808" && beyond.id == 0 && beyond.repairs.contains { $0.path == "id" })
    }

    @Test func `parents in a cycle are written as ids, without endless recursion`() throws {
        let context = ModelContext()
        let districts = ModelCollection<Branch>(context: context)
        try districts.set([
            ["id": 1, "parent": 2], ["id": 2, "parent": ["id": 1, "parent": 2]], ["id": 3, "parent": 3],
        ])
        #expect(districts.map { $0.parent.model(in: context)?.modelID } == [2, 1, 3])
        #expect(
            districts.json == [
                ["id": 1, "parent": 2], ["id": 2, "parent": ["id": 1, "parent": 2]], ["id": 3, "parent": 3],
            ])
        districts[0].parent = ParentReference(districts[0])
        #expect(districts[0].changedJSON == ["parent": 1])
        #expect(try Branch(json: ["parent": ["id": nil]]).repairs.map(\.path) == ["parent"])
    }
}

/// Random JSON, mostly of wrong shapes.
enum HostileJSON {
    /// The keys and shapes that a class asks for.
    enum Form {
        case city
        case wallet
        case person
        case account
    }

    static func object(of form: Form, _ random: inout SplitMix) -> JSONValue {
        var members: [String: JSONValue] = [:]
        if random.below(2) == 0 { members["id"] = id(&random) }
        if random.below(3) == 0 { members["unknown"] = anything(&random) }
        let keys: [String] =
            switch form {
            case .city: ["name", "title", "population", "founded", "mayor", "districts"]
            case .wallet: ["name", "limit", "account", "spare", "accounts"]
            case .person, .account: ["name", "balance"]
            }
        for key in keys where random.below(3) > 0 { members[key] = value(key, &random) }
        return .object(members)
    }

    /// An element for a collection of a class cluster.
    static func element(_ random: inout SplitMix) -> JSONValue {
        if random.below(5) == 0 { return anything(&random) }
        var members: [String: JSONValue] = ["name": anything(&random)]
        if random.below(6) > 0 { members["id"] = id(&random) }
        if random.below(2) == 0 { members["kind"] = ["dog", "cat", 7][random.below(3)] }
        return .object(members)
    }

    private static func value(_ key: String, _ random: inout SplitMix) -> JSONValue {
        if random.below(3) == 0 { return anything(&random) }
        switch key {
        case "mayor": return object(of: .person, &random)
        case "account", "spare": return object(of: .account, &random)
        case "districts", "accounts":
            return .array(
                (0..<random.below(5)).map { _ in
                    random.below(4) == 0 ? anything(&random) : object(of: .account, &random)
                })
        case "population", "limit", "balance": return .integer(Int64(random.below(7)) - 2)
        default: return .string(["", "A", "2000-01-01T00:00:00Z"][random.below(3)])
        }
    }

    private static func id(_ random: inout SplitMix) -> JSONValue {
        let number = random.below(5)
        return [.integer(Int64(number)), .string(String(number)), .null, .string("x"), 1.5][random.below(5)]
    }

    static func anything(_ random: inout SplitMix) -> JSONValue {
        switch random.below(9) {
        case 0: .null
        case 1: .bool(true)
        case 2: .integer([.max, .min, 0, 1 << 53][random.below(4)])
        case 3: .number([1e308, -0.5, 2.5e-308, 1.8446744073709552e19][random.below(4)])
        case 4: .string(["", "\u{0}", "é", "e\u{301}", "9223372036854775808"][random.below(5)])
        case 5: .array([])
        case 6: .object([:])
        case 7: .array((0..<random.below(4)).map { _ in anything(&random) })
        default: .object(["id": id(&random), "a": anything(&random)])
        }
    }

    /// Whether each member that no property could take is among the repairs, and each element in the collection.
    static func isAccounted(_ city: City, _ json: JSONValue) -> Bool {
        let repaired = Set(city.repairs.map(\.path))
        let isNamed = json["population"].map { Int(json: $0) != nil || repaired.contains("population") } ?? true
        let isHeaded = json["mayor"].map { $0.isObject || repaired.contains("mayor") } ?? true
        return isNamed && isHeaded && isAccounted(city.districts, json["districts"])
            && (json["districts"].map { $0.isArray || repaired.contains("districts") } ?? true)
    }

    static func isAccounted<M: Model>(_ models: ModelCollection<M>, _ json: JSONValue?) -> Bool {
        guard case .array(let elements)? = json else { return true }
        // A member whose rules refuse its element stays.
        let refused = models.rejected.count { rejection in
            let id = rejection.json["id"].flatMap(ModelID.init(json:))
            return rejection.error.code == .invalid && id.map { models[id: $0] != nil } ?? false
        }
        return models.allModels.count + models.rejected.count - refused == elements.count
    }
}

extension JSONValue {
    fileprivate var isObject: Bool { if case .object = self { true } else { false } }
    fileprivate var isArray: Bool { if case .array = self { true } else { false } }
}

/// A model that refers to another of its class as its parent.
private final class Branch: Model {
    static let parent = Property(\Branch.parent, "parent")

    private var _parent = ParentReference<Branch>()

    var parent: ParentReference<Branch> {
        get { read(Self.parent, from: _parent) }
        set { write(Self.parent, from: _parent, to: newValue) { _parent = $0 } }
    }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _parent = visitor.visit(Self.parent, with: _parent)
    }
}
