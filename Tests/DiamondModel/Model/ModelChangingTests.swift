import Diamond
import DiamondModel
import Foundation
import Observation
import Synchronization
import Testing

@Suite("The changes of a model") struct ModelChangingTests {
    private let city: City

    init() throws {
        city = try City(json: ["id": 1, "name": "Nara", "population": 5, "mayor": ["name": "A"], "districts": []])
    }

    @Test func `an observer of a nested change sees the whole object`() {
        var seen: [JSONValue] = []
        let token = city.observe { [city] _ in seen.append(city.json) }
        city.mayor.name = "B"
        #expect(seen.count == 1 && seen.first?["mayor"]?["name"] == "B" && seen.first?["name"] == "Nara")
        token.cancel()
    }

    @Test func `a nested model that was synced on its own is written in its current state`() {
        city.mayor.name = "B"
        city.mayor.markSynced()
        #expect(!city.isDirty && city.json["mayor"]?["name"] == "B")
    }

    @Test func `a collection may be deallocated while its model reports a change`() throws {
        let person = Person()
        var second: ModelCollection<Person>? = nil
        let first = try ModelCollection([person])
        let token = first.observeModels { _ in second = nil }
        second = try ModelCollection([person])
        person.name = "B"
        #expect(second == nil && first.count == 1)
        token.cancel()
    }

    @Test func `models that contain each other are synced without endless recursion`() throws {
        let (one, other) = (Ring(), Ring())
        try one.others.append(other)
        try other.others.append(one)
        one.name = "A"
        one.markSynced()
        #expect(!one.isDirty && !other.isDirty)
    }

    @Test func `setting an equal value fires no event`() {
        var count = 0
        let token = city.observe { _ in count += 1 }
        city.name = "Nara"
        #expect(count == 0)
        #expect(!city.isDirty)
        token.cancel()
    }

    @Test func `a write reports the old and the new value, to all observers and by property`() {
        var events: [ModelEvent] = []
        var names: [ValueChange<String>] = []
        let tokens = [city.observe { events.append($0) }, city.observe(City.name) { names.append($0) }]
        city.name = "Kyoto"
        city.population = 6
        #expect(events.map { $0.changes.map(\.key) } == [["name"], ["population"]])
        #expect(events.last?[City.population] == ValueChange(old: 5, new: 6))
        #expect(names == [ValueChange(old: "Nara", new: "Kyoto")])
        for token in tokens { token.cancel() }
    }

    @Test func `a transaction is one event, from the first to the last value`() {
        var events: [ModelEvent] = []
        let token = city.observe { events.append($0) }
        city.transaction {
            city.name = "Kyoto"
            city.transaction { city.name = "Kobe" }
            city.population = 6
            city.population = 5
        }
        #expect(events.count == 1)
        #expect(events[0].changes.map(\.key) == ["name"])
        #expect(events[0][City.name] == ValueChange(old: "Nara", new: "Kobe"))
        token.cancel()
    }

    @Test func `a property that was set since the last sync is dirty until it has its old value`() {
        city.name = "Kyoto"
        city.population = 6
        #expect(city.dirtyProperties.map(\.key) == ["name", "population"])
        city.name = "Nara"
        #expect(city.dirtyProperties.map(\.key) == ["population"])
        #expect(city.changedJSON == ["population": 6])
        city.markSynced()
        #expect(!city.isDirty)
        #expect(city.json["population"] == 6)
    }

    @Test(arguments: [false, true])
    func `an observer may remove a member while all are marked as synced or rolled back`(_ isRollback: Bool) throws {
        let city = try City(json: ["districts": [["id": 1], ["id": 2], ["id": 3]]])
        let districts = city.districts
        let models = districts.allModels
        for district in models { district.name = "new" }
        let tokens = [
            models[0].observe { _ in districts.remove(models[1]) },
            districts.observe { _ in districts.remove(models[1]) },
        ]
        if isRollback { city.rollback() } else { city.markSynced() }
        #expect(districts.allModels == [models[0], models[2]])
        #expect(!models[2].isDirty)
        for token in tokens { token.cancel() }
    }

    @Test func `a rollback restores all properties, or the given ones`() {
        city.name = "Kyoto"
        city.population = 6
        city.rollback(City.name)
        #expect(city.name == "Nara")
        #expect(city.population == 6)
        city.rollback()
        #expect(city.population == 5)
        #expect(!city.isDirty)
    }

    @Test func `a nested model's change reaches its owner with the path, one level deep`() {
        let region = Region()
        region.capital = city
        var cityKeys: [String] = []
        var regionKeys: [String] = []
        let tokens = [
            city.observe { cityKeys += $0.changes.map(\.key) }, region.observe { regionKeys += $0.changes.map(\.key) },
        ]
        city.mayor.name = "B"
        city.name = "Kyoto"
        #expect(cityKeys == ["mayor.name", "name"])
        #expect(regionKeys == ["capital.name"])
        #expect(city.isDirty && region.isDirty)
        let former = city.mayor
        city.mayor = Person()
        former.name = "C"
        #expect(cityKeys == ["mayor.name", "name", "mayor"])
        for token in tokens { token.cancel() }
    }

    @Test func `models that contain each other cause neither endless events nor endless JSON`() {
        let left = Ring()
        let right = Ring()
        _ = try? left.others.add(right)
        _ = try? right.others.add(left)
        var keys: [String] = []
        let token = left.observe { keys += $0.changes.map(\.key) }
        right.name = "x"
        left.name = "y"
        // The change is also reported for the model inside the other one, and no deeper.
        #expect(keys == ["others.name", "name", "others.others.name"])
        #expect(left.json["others"] == [["name": "x", "others": [nil]]])
        #expect(left.isDirty)
        #expect(left.copy().name == "y")
        token.cancel()
        left.others.removeAll()
    }

    @Test func `Observation tracks properties, inherited ones too`() {
        let dog = Dog()
        let fired = Mutex(0)
        withObservationTracking {
            _ = dog.name
        } onChange: {
            fired.withLock { $0 += 1 }
        }
        dog.breed = "Akita"
        #expect(fired.withLock { $0 } == 0)
        dog.name = "Hachi"
        #expect(fired.withLock { $0 } == 1)
    }

    @Test func `a sequence of changes loses no change, and ends with its model`() async {
        var person: Person? = Person()
        guard let changes = person?.changes(\.name) else { return }
        person?.name = "A"
        person?.name = "B"
        person = nil
        var heard: [String] = []
        for await change in changes { heard.append(change.new) }
        #expect(heard == ["A", "B"])
    }

    @Test func `an observer that is canceled during an event does not receive it`() {
        var heard: [String] = []
        var tokens: [ObserverToken] = []
        tokens.append(
            city.observe { _ in
                heard.append("first"); tokens[1].cancel()
            })
        tokens.append(city.observe { _ in heard.append("second") })
        city.name = "Kyoto"
        #expect(heard == ["first"])
    }

    @Test func `an observer may read and set the property that has changed`() {
        let token = city.observe(City.name) { [city] change in if change.new == "x" { city.name = "y" } }
        city.name = "x"
        #expect(city.name == "y")
        token.cancel()
    }

    @Test func `a copy has equal values, its own nested models, and no ties to the original`() throws {
        try city.merge(["districts": [["id": 1, "name": "D"], ["name": "without id"]]])
        city.name = "Kyoto"
        let copy = city.copy()
        #expect(copy.isEqual(to: city))
        #expect(copy.json == city.json)
        #expect(copy.isDirty(City.name))
        copy.mayor.name = "Z"
        copy.districts[0].name = "E"
        #expect(city.mayor.name == "A")
        #expect(city.districts[0].name == "D")
        #expect(!copy.isEqual(to: city))
    }

    @Test func `a model without references is deallocated, although it is observed or its parts are retained`() {
        weak var gone: City?
        var mayor: Person?
        do {
            let city = City()
            mayor = city.mayor
            gone = city
            _ = city.observe { _ in }
        }
        #expect(gone == nil)
        mayor?.name = "x"
    }
}

final class Region: Model {
    static let capital = Property(\Region.capital, "capital")

    private var _capital = City()

    var capital: City {
        get { read(Self.capital, from: _capital) }
        set { write(Self.capital, from: _capital, to: newValue) { _capital = $0 } }
    }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _capital = visitor.visit(Self.capital, with: _capital)
    }
}

/// A model that may hold others of its class, itself included.
final class Ring: Model {
    static let name = Property(\Ring.name, "name")
    static let others = Property(\Ring.others, "others")

    private var _name = ""

    var name: String {
        get { read(Self.name, from: _name) }
        set { write(Self.name, from: _name, to: newValue) { _name = $0 } }
    }

    let others = ModelCollection<Ring>()

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _name = visitor.visit(Self.name, with: _name)
        visitor.visit(Self.others, with: others)
    }

    override class var observedDepth: Int { 100 }
}
