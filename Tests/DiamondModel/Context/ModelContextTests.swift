import Diamond
import DiamondModel
import Foundation
import Testing

@Suite("A context") struct ModelContextTests {
    private let context = ModelContext()

    @Test func `a class and an id have one live instance`() throws {
        let city = try context.model(City.self, from: ["id": 7, "name": "Nara"])
        let same = try context.model(City.self, from: ["id": "7", "population": 5])
        #expect(same === city)
        #expect(city.population == 5)
        #expect(city.name == "Nara")
        #expect(context.existing(City.self, id: "7") === city)
        #expect(context.existing(Person.self, id: 7) as Person? == nil)
        #expect(context.existing(City.self, id: "07") as City? == nil)
    }

    @Test func `retains no model`() throws {
        do { _ = try context.model(City.self, from: ["id": 7]) }
        #expect(context.count == 0)
        let next = try context.model(City.self, from: ["id": 7])
        #expect(context.count == 1)
        _ = next
    }

    @Test func `a new object gets its id from the server, in its context and in collections`() throws {
        let city = City()
        let cities = try ModelCollection([city], context: context)
        let local = city.modelID
        #expect(local.isLocal && city.isNew)
        #expect(context.existing(City.self, id: local) === city)
        var changes: [ModelID] = []
        let token = context.observeIDs { changes += [$0.old, $0.new] }
        try city.merge(["id": 9])
        #expect(changes == [local, 9])
        #expect(cities[id: 9] === city)
        #expect(cities[id: local] == nil)
        #expect(context.existing(City.self, id: local) === city)
        #expect(city.json["id"] == 9)
        token.cancel()
    }

    @Test func `a model that an observer of ids removes is in its collection under no id`() throws {
        let city = City()
        let cities = try ModelCollection([city], context: context)
        let local = city.modelID
        let token = context.observeIDs { $0.model.leaveCollections() }
        try city.merge(["id": 9])
        #expect(cities.isEmpty && cities.allModels.isEmpty)
        #expect(cities[id: local] == nil && cities[id: 9] == nil)
        token.cancel()
    }

    @Test(arguments: [
        (#"{"name": "x"}"#, ModelError.Code.missingID), (#"{"id": null}"#, .missingID), (#"{"id": ""}"#, .missingID),
        (#"{"id": 1.5}"#, .missingID), (#"{"id": [1]}"#, .missingID), (#"{"id": 1844674407370955161.5}"#, .missingID),
        (#"[1]"#, .malformed),
    ]) func `an object without a usable id is an error`(text: String, code: ModelError.Code) {
        #expect { try context.model(City.self, from: Data(text.utf8)) } throws: { ($0 as? ModelError)?.code == code }
    }

    @Test func `an id that changes its class is an error while the first instance is alive`() throws {
        var dog: Animal? = try context.model(Animal.self, from: ["id": 1, "kind": "dog"])
        #expect(try context.model(Animal.self, from: ["id": 1, "name": "Hachi"]) === dog)
        let plain = try context.model(Animal.self, from: ["id": 2])
        #expect { try context.model(Animal.self, from: ["id": 2, "kind": "dog"]) } throws: {
            ($0 as? ModelError)?.code == .wrongClass
        }
        dog = nil
        #expect(try context.model(Animal.self, from: ["id": 1]) is Dog == false)
        _ = plain
    }

    @Test func `a model belongs to one context`() throws {
        let person = try ModelContext().model(Person.self, from: ["id": 1])
        #expect(person.context == nil)  // its context is gone
        let other = ModelContext()
        try other.register(person)
        #expect { try context.register(person) } throws: { ($0 as? ModelError)?.code == .otherContext }
        let copy = person.copy()
        #expect { try other.register(copy) } throws: { ($0 as? ModelError)?.code == .duplicateID }
    }

    @Test func `nested models are the live instances, and parents are weak references that are written as ids`() throws
    {
        let city = try context.model(
            City.self, from: ["id": 1, "districts": [["id": 5, "city_id": "1", "name": "D"]]])
        let district = city.districts[0]
        #expect(context.existing(District.self, id: 5) === district)
        #expect(district.city.model(in: context) === city)
        #expect(district.json["city_id"] == "1")
        let draft = City()
        district.city = ParentReference(draft)
        #expect(district.json["city_id"] == .string(draft.localID.description))
        try draft.merge(["id": 2])
        #expect(district.json["city_id"] == 2)
        #expect(district.changedJSON == ["city_id": 2])
    }

    @Test func `ids are sent between isolation domains as values`() throws {
        let id = try context.model(City.self, from: ["id": 1]).typedID
        #expect(try JSONDecoder().decode(TypedID<City>.self, from: JSONEncoder().encode(id)) == id)
        let local = City().modelID
        #expect(try JSONDecoder().decode(ModelID.self, from: JSONEncoder().encode(local)) == local)
    }

    @Test func `models live on any actor`() async throws {
        actor Library {
            let context = ModelContext()
            func name(_ json: JSONValue) throws -> String { try context.model(City.self, from: json).name }
        }
        #expect(try await Library().name(["id": 1, "name": "Nara"]) == "Nara")
        let name = try await MainActor.run {
            try ModelContext().model(City.self, from: ["id": 1, "name": "Kobe"]).name
        }
        #expect(name == "Kobe")
    }
}
