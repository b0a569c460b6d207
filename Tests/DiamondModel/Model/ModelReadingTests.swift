import Diamond
import DiamondModel
import Foundation
import Testing

@Suite("A model read from JSON") struct ModelReadingTests {
    @Test(arguments: [
        (#"{}"#, Repair.Reason.missing), (#"{"name": null}"#, .null), (#"{"name": 7}"#, .wrongType),
        (#"{"name": {"first": "A"}}"#, .wrongType), (#"{"name": ["A"]}"#, .wrongType),
    ]) func `a property without a value in the JSON has its default and a repair`(
        text: String, reason: Repair.Reason
    ) throws {
        let person = try Person(json: Data(text.utf8))
        #expect(person.name == "")
        #expect(person.repairs.map(\.reason) == [reason])
        #expect(person.repairs.map(\.path) == ["name"])
        #expect(throws: ModelError.self) { try Person(json: Data(text.utf8), strict: true) }
    }

    @Test(arguments: ["", "7", "[]", "null", #"{"name""#, #"{"a": 1, "a": 2}"#, String(repeating: "[", count: 5000)])
    func `JSON that is no object is an error`(text: String) {
        #expect { try Person(json: Data(text.utf8)) } throws: { ($0 as? ModelError)?.code == .malformed }
    }

    @Test func `a value is read from the first key that has one, and is written back there`() throws {
        let city = try City(json: ["id": 1, "name": nil, "title": "Nara"])
        #expect(city.name == "Nara")
        city.name = "Ōsaka"
        #expect(city.changedJSON == ["title": "Ōsaka"])
        #expect(city.json["name"] == .null)
    }

    @Test func `a key path reads and writes inside nested objects, and does not change their other members`() throws {
        let place = try Place(json: ["geo": ["lat": 35, "datum": "WGS84"], "tags": ["a", 1, "b", nil]])
        #expect(place.latitude == 35)
        place.latitude = 36
        #expect(place.json == ["geo": ["lat": 36, "datum": "WGS84"], "tags": ["a", 1, "b", nil]])
        try place.merge(["geo": ["lon": 135]])
        #expect(place.latitude == 36)
        #expect(place.json["geo"] == ["lat": 36, "lon": 135, "datum": "WGS84"])
    }

    @Test func `a bad element does not discard its array, and is written back until the array is set`() throws {
        let place = try Place(json: ["geo": ["lat": 35], "tags": ["a", 1, "b", nil]])
        #expect(place.tags == ["a", "b"])
        #expect(place.repairs.map(\.path) == ["tags[1]", "tags[3]"])
        #expect(place.json["tags"] == ["a", 1, "b", nil])
        place.tags.append("c")
        #expect(place.json["tags"] == ["a", "b", "c"])
        #expect(place.repairs.isEmpty)
    }

    @Test func `a repaired property writes its original JSON back until it is set`() throws {
        let json: JSONValue = [
            "id": 3, "name": "Nara", "population": "many", "founded": nil, "extra": [1, ["x": nil]],
        ]
        let city = try City(json: json)
        #expect(city.json == json)
        city.population = 0  // equal to the default, but set on purpose
        #expect(city.json["population"] == 0)
        #expect(city.json["founded"] == .null)
        #expect(city.json["extra"] == [1, ["x": nil]])
        #expect(city.changedJSON == ["population": 0])
    }

    @Test func `a date is read and written by its codec`() throws {
        let city = try City(json: ["founded": "0794-10-22T00:00:00Z"])
        let founded = city.founded
        city.founded = Date(timeIntervalSince1970: 0.5)
        #expect(city.json["founded"] == "1970-01-01T00:00:00.500Z")
        city.founded = founded
        #expect(!city.isDirty)
    }

    @Test func `a class cluster makes the class that the JSON names, with inherited properties`() throws {
        let animal = try Animal.decoded(from: ["kind": "dog", "name": "Hachi", "breed": "Akita"])
        let dog = try #require(animal as? Dog)
        #expect(dog.name == "Hachi")
        dog.name = "Hachikō"
        dog.breed = "Shiba"
        #expect(dog.changedJSON == ["name": "Hachikō", "breed": "Shiba"])
        #expect(throws: ModelError.self) { try Cat.decoded(from: ["kind": "dog"]) }
    }

    @Test func `decoding with Codable makes a copy outside every context`() throws {
        let context = ModelContext()
        let city = try context.model(City.self, from: ["id": 1, "name": "Nara", "x": [1, 2]])
        let copy = try JSONDecoder().decode(City.self, from: JSONEncoder().encode(city))
        #expect(copy !== city)
        #expect(copy.context == nil)
        #expect(copy.isEqual(to: city))
        #expect(copy.json == city.json)
    }

    @Test func `numbers are read only if the type represents them exactly`() throws {
        #expect(Int8(json: 127) == 127)
        #expect(Int8(json: 128) == nil)
        #expect(UInt(json: -1) == nil)
        #expect(Int(json: 2.0) == 2)
        #expect(Int(json: 2.5) == nil)
        #expect(Int(json: "2") == nil)
        #expect(Bool(json: 1) == nil)
        #expect(Double(json: 2) == 2)
        #expect([String: Int](json: ["a": 1, "b": "x"]) == ["a": 1])
    }
}

/// A model with a key path, an array and an enum.
final class Place: Model {
    static let latitude = Property(\Place.latitude, .path("geo", "lat"))
    static let tags = Property(\Place.tags, "tags")

    private var _latitude = 0.0
    private var _tags: [String] = []

    var latitude: Double {
        get { read(Self.latitude, from: _latitude) }
        set { write(Self.latitude, from: _latitude, to: newValue) { _latitude = $0 } }
    }

    var tags: [String] {
        get { read(Self.tags, from: _tags) }
        set { write(Self.tags, from: _tags, to: newValue) { _tags = $0 } }
    }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _latitude = visitor.visit(Self.latitude, with: _latitude)
        _tags = visitor.visit(Self.tags, with: _tags)
    }
}

final class Cat: Animal {}

extension JSONValue {
    subscript(name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members[name]
    }
}
