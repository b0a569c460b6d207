import Diamond
import DiamondModel
import DiamondTestSupport
import Foundation
import Testing

/// Real JSON, read into models, changed, and compared key by key with plain dictionaries.
@Suite("Real JSON") struct GeoNamesTests {
    private static let elements = Result { try readElements() }

    private static func readElements() throws -> [JSONValue] {
        let path = "../../Fixtures/GeoNames/cities.json"
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: path)
        guard case .array(let elements) = try JSONValue(reading: Data(contentsOf: file)) else { return [] }
        return elements
    }

    private let elements: [JSONValue]
    private let context = ModelContext()
    private let towns: ModelCollection<Town>

    init() throws {
        elements = try Self.elements.get()
        towns = ModelCollection(context: context)
        try towns.set(.array(elements))
    }

    @Test func `real cities are written as they were read`() throws {
        #expect(towns.count > 6000 && towns.rejected.isEmpty)
        #expect(towns.json == .array(elements))
        #expect(towns.allSatisfy { $0.repairs.isEmpty && !$0.isDirty })
        let back = try JSONDecoder().decode(ModelCollection<Town>.self, from: JSONEncoder().encode(towns))
        #expect(back.json == towns.json)
        #expect(zip(back, towns).allSatisfy { $0.isEqual(to: $1) })
    }

    @Test func `changed cities are written with the values that were set, merged and rolled back`() throws {
        var random = SplitMix(state: Effort.seed)
        for element in elements {
            guard case .object(let object) = element, let id = object["id"].flatMap(ModelID.init(json:)),
                let town = towns[id: id]
            else { continue }
            var record = Record(server: object)
            for _ in 0..<random.below(6) { try record.change(town, &random) }
            let difference = record.differences(from: town)
            #expect(difference.isEmpty, "seed \(Effort.seed), city \(id): \(difference)")
            if !difference.isEmpty { return }
        }
        let read = try JSONValue(reading: JSONEncoder().encode(towns.json))
        #expect(read == towns.json)
    }
}

/// The JSON of one city by plain dictionaries.
private struct Record {
    /// As the server has it.
    private(set) var server: [String: JSONValue]
    /// The values that were set since the last sync.
    private var set: [String: JSONValue] = [:]

    init(server: [String: JSONValue]) { self.server = server }

    mutating func change(_ town: Town, _ random: inout SplitMix) throws {
        let number = 1 + random.below(1000)
        switch random.below(8) {
        case 0: put("name", .string("n\(number)")) { town.name = "n\(number)" }
        case 1: put("population", .integer(Int64(number))) { town.population = number }
        case 2: put("latitude", .number(Double(number) + 0.5)) { town.latitude = Double(number) + 0.5 }
        case 3: try putByKey("name", .string("k\(number)"), town)
        case 4:
            set = [:]
            town.rollback()
        case 5:
            server.merge(set) { $1 }
            set = [:]
            town.markSynced()
        case 6: try merge(["name": .string("m\(number)"), "visits": .integer(Int64(number))], into: town)
        default: try merge(["population": random.below(2) == 0 ? .null : .string("many")], into: town)
        }
    }

    private mutating func put(_ key: String, _ value: JSONValue, _ write: () -> Void) {
        note(key, value)
        write()
    }

    private mutating func putByKey(_ key: String, _ value: JSONValue, _ town: Town) throws {
        note(key, value)
        try town.set(key, to: value)
    }

    private mutating func note(_ key: String, _ value: JSONValue) {
        if value == server[key] { set.removeValue(forKey: key) } else { set[key] = value }
    }

    private mutating func merge(_ json: [String: JSONValue], into town: Town) throws {
        for (key, value) in json {
            server[key] = value
            set.removeValue(forKey: key)
        }
        try town.merge(.object(json))
    }

    /// The keys whose values differ.
    func differences(from town: Town) -> [String] {
        guard case .object(let json) = town.json, case .object(let changed) = town.changedJSON else { return ["all"] }
        let expected = server.merging(set) { $1 }
        return Set(expected.keys).union(json.keys).filter { expected[$0] != json[$0] }
            + Set(set.keys).union(changed.keys).filter { set[$0] != changed[$0] }
            + (Set(town.dirtyProperties.map(\.key)) == Set(set.keys) ? [] : ["dirty"])
    }
}

/// A city with some of its members as properties.
private final class Town: Model {
    static let id = Property(\Town.id, "id", access: .server)
    static let name = Property(\Town.name, "name")
    static let population = Property(\Town.population, "population")
    static let latitude = Property(\Town.latitude, "latitude")

    private var _id = 0
    private var _name = ""
    private var _population = 0
    private var _latitude = 0.0

    var id: Int { read(Self.id, from: _id) }

    var name: String {
        get { read(Self.name, from: _name) }
        set { write(Self.name, from: _name, to: newValue) { _name = $0 } }
    }

    var population: Int {
        get { read(Self.population, from: _population) }
        set { write(Self.population, from: _population, to: newValue) { _population = $0 } }
    }

    var latitude: Double {
        get { read(Self.latitude, from: _latitude) }
        set { write(Self.latitude, from: _latitude, to: newValue) { _latitude = $0 } }
    }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _id = visitor.visit(Self.id, with: _id)
        _name = visitor.visit(Self.name, with: _name)
        _population = visitor.visit(Self.population, with: _population)
        _latitude = visitor.visit(Self.latitude, with: _latitude)
    }
}
