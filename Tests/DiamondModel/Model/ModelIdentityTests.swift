import Diamond
import DiamondModel
import Testing

@Suite("The identity of a model") struct ModelIdentityTests {
    @Test func `models are equal, and have equal hashes, if they are the same object`() throws {
        let (city, twin) = (try City(json: ["id": 7]), try City(json: ["id": 7]))
        #expect(city == city && city != twin && city.isEqual(to: twin))
        let set: Set = [city, twin, city]
        #expect(set.count == 2)
        city.name = "Nara"
        #expect(set.contains(city) && AnyHashable(city) == AnyHashable(city as Model))
    }

    @Test func `the id of Identifiable is the id of the model, also if the class has a property with this name`() throws
    {
        func id<Value: Identifiable>(of value: Value) -> Value.ID { value.id }
        let city = try City(json: ["id": 7])
        #expect(id(of: city) == ModelID(7) && city.id == 7)
        let person = Person()
        #expect(id(of: person) == person.localID && person.id == person.modelID)
    }

    @Test func `a model names the collections that contain it`() throws {
        let context = ModelContext()
        let (cities, others) = (ModelCollection<City>(context: context), ModelCollection<City>(context: context))
        let city: City = try context.model(from: ["id": 7, "districts": [["id": 8]]])
        #expect(city.collections.isEmpty)
        try cities.add(city)
        try others.add(city)
        others.filters["none"] = Filter { _ in false }
        #expect(city.collections.map(ObjectIdentifier.init) == [cities, others].map(ObjectIdentifier.init))
        #expect(city.districts[0].collections.first === city.districts)
        cities.remove(city)
        #expect(city.collections.map(ObjectIdentifier.init) == [ObjectIdentifier(others)])
    }

    @Test func `the collections of a model stay in order when it leaves one`() throws {
        let city = try City(json: ["id": 7])
        let lists = (0..<4).map { _ in ModelCollection<City>() }
        for cities in lists { try cities.add(city) }
        lists[0].remove(city)
        #expect(city.collections.map(ObjectIdentifier.init) == lists.dropFirst().map(ObjectIdentifier.init))
    }

    @Test func `a model of a class cluster names the collections of its superclass`() throws {
        let animals = ModelCollection<Animal>()
        let dog = Dog()
        try animals.add(dog)
        #expect(dog.collections.isEmpty && dog.collections(of: Animal.self).first === animals)
        #expect((dog as Animal).collections.first === animals)
    }
}
