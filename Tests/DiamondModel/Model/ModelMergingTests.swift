import Diamond
import DiamondModel
import Foundation
import Testing

@Suite("A merge") struct ModelMergingTests {
    private let context = ModelContext()
    private let city: City

    init() throws {
        city = try context.model(
            from: [
                "id": 1, "name": "Nara", "population": 5, "mayor": ["id": 1, "name": "A"], "districts": [],
                "founded": "0710-01-01T00:00:00Z",
            ])
    }

    @Test func `changes only the keys that are present, and clears their dirty bits`() throws {
        city.name = "Kyoto"
        city.population = 6
        try city.merge(["name": "Kobe", "more": true])
        #expect(city.name == "Kobe")
        #expect(city.population == 6)
        #expect(city.dirtyProperties.map(\.key) == ["population"])
        #expect(city.json["more"] == true)
    }

    @Test func `null in a merge sets the default, and is recorded as a repair until a value is merged`() throws {
        try city.merge(["population": nil])
        #expect(city.population == 0)
        #expect(city.repairs.map(\.description) == ["population is null"])
        #expect(city.json["population"] == .null)
        try city.merge(["population": 7])
        #expect(city.repairs.isEmpty)
    }

    @Test func `is one event, whose source is the server`() throws {
        var events: [ModelEvent] = []
        let token = city.observe { events.append($0) }
        try city.merge(["name": "Kobe", "population": 6])
        #expect(events.count == 1)
        #expect(events[0].source == .server)
        #expect(Set(events[0].changes.map(\.key)) == ["name", "population"])
        token.cancel()
    }

    @Test func `a value that a rule rejects refuses the whole merge`() throws {
        let account = try Account(json: ["balance": 5, "name": "A"])
        #expect { try account.merge(["name": "B", "balance": -1]) } throws: {
            ($0 as? ModelError)?.violations.map(\.rule) == ["range"]
        }
        #expect(account.name == "A")
        account.balance = -1
        #expect(account.balance == 5)
        #expect(account.rejections.map(\.description) == ["balance breaks the rule range"])
        account.balance = 6
        #expect(account.rejections.isEmpty)
        let other = try Account(json: ["balance": -1, "name": "A"])
        #expect(other.balance == 0)
        #expect(other.repairs.map(\.reason) == [.rule("range")])
    }

    @Test
    func `a nested object merges into the existing model if it has the same id, and becomes another model otherwise`()
        throws
    {
        let mayor = city.mayor
        try city.merge(["mayor": ["id": 1, "name": "B"]])
        #expect(city.mayor === mayor)
        #expect(mayor.name == "B")
        try city.merge(["mayor": ["id": 2, "name": "C"]])
        #expect(city.mayor !== mayor)
        #expect(city.mayor === context.existing(Person.self, id: 2))
        #expect(mayor.name == "B")
    }

    @Test func `an array of models merges by id, in its order`() throws {
        try city.merge(["districts": [["id": 1, "name": "A"], ["id": 2, "name": "B"]]])
        let first = city.districts[0]
        try city.merge(["districts": [["id": 3, "name": "C"], ["id": "1", "name": "D"]]])
        #expect(city.districts.map(\.name) == ["C", "D"])
        #expect(city.districts[1] === first)
        #expect(!city.isDirty)
    }

    @Test func `an id that another live model has refuses the merge`() throws {
        let other = try context.model(City.self, from: ["id": 2, "name": "Kyoto"])
        #expect { try other.merge(["id": 1, "name": "x"]) } throws: { ($0 as? ModelError)?.code == .duplicateID }
        #expect(other.name == "Kyoto")
        try other.merge(["id": 3])
        #expect(context.existing(City.self, id: 3) === other)
        #expect(context.existing(City.self, id: 2) as City? == nil)
    }

    @Test func `a merge of an empty object changes nothing, and a merge of no data is an error`() throws {
        city.name = "Kyoto"
        try city.merge([:])
        #expect(city.dirtyProperties.map(\.key) == ["name"])
        #expect(throws: ModelError.self) { try city.merge(Data()) }
    }

    @Test func `values can be set by key only for properties that a user may set`() throws {
        city["name"] = "Kobe"
        #expect(city.name == "Kobe")
        #expect(city["population"] == 5)
        #expect { try city.set("id", to: 9) } throws: { ($0 as? ModelError)?.code == .notSettable }
        #expect(throws: ModelError.self) { try city.replace(["population": 7, "name": 7]) }
        #expect(city.population == 5)
        try city.remove("population")
        #expect(city.population == 0)
        #expect(city.changedJSON == ["name": "Kobe", "population": 0])
        city.removeAll()
        #expect(city.name == "")
        #expect(city.id == 1)
        #expect(Set(city.snapshot.keys) == ["name", "population", "founded", "mayor"])
    }

    @Test func `broken rules are listed as violations, and make the validation fail`() throws {
        city.name = ""
        city.population = -1
        #expect(
            city.violations.map(\.description) == ["name breaks the rule nonEmpty", "population breaks the rule range"])
        #expect { try city.validate() } throws: { ($0 as? ModelError)?.code == .invalid }
        city.rollback()
        try city.validate()
        let account = Account()
        #expect(account.violations.map(\.rule) == ["required"])
        account.name = "A"
        #expect(account.violations.isEmpty)
        #expect(try Account(json: ["name": nil]).violations.map(\.rule) == ["required"])
        #expect(try Account(json: ["name": ""]).violations.isEmpty)
    }
}

/// A model with a required property, and one that refuses values.
final class Account: Model {
    static let name = Property(\Account.name, "name", rules: [.required])
    static let balance = Property(\Account.balance, "balance", rules: [.range(0...)], policy: .reject)

    private var _name = ""
    private var _balance = 0

    var name: String {
        get { read(Self.name, from: _name) }
        set { write(Self.name, from: _name, to: newValue) { _name = $0 } }
    }

    var balance: Int {
        get { read(Self.balance, from: _balance) }
        set { write(Self.balance, from: _balance, to: newValue) { _balance = $0 } }
    }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _name = visitor.visit(Self.name, with: _name)
        _balance = visitor.visit(Self.balance, with: _balance)
    }
}
