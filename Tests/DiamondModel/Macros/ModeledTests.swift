#if Macros
import Diamond
import DiamondModel
import DiamondSQLite
import DiamondTestSupport
import Foundation
import Observation
import Testing

/// Classes written by a macro do what those written by hand do, over the same JSON.
@Suite("Classes written by @Modeled") struct ModeledTests {
    @Test func `a class reads, merges, changes and writes JSON of any shape as its handwritten twin does`() throws {
        var random = SplitMix(state: Effort.seed)
        for _ in 0..<Effort.rounds(200, soaking: 20_000) {
            let json = (0..<3).map { _ in HostileJSON.object(of: .city, &random) }
            let byMacro = try Transcript.life(of: ByMacro.City.self, json)
            let byHand = try Transcript.life(of: City.self, json)
            #expect(byMacro == byHand, "seed \(Effort.seed): \(json)")
            if byMacro != byHand { return }
        }
    }

    @Test(
        arguments: [
            ["kind": "dog", "name": "Hachi", "breed": "Akita"], ["kind": "dog"], ["name": "Tama"], ["breed": 7],
        ] as [JSONValue]) func `a class cluster and its inherited properties behave as in its handwritten twin`(
            json: JSONValue
        )
        throws
    {
        let byMacro = try ByMacro.Animal.decoded(from: json)
        let byHand = try Animal.decoded(from: json)
        #expect((byMacro is ByMacro.Dog) == (byHand is Dog))
        #expect(Transcript.state(of: byMacro) == Transcript.state(of: byHand))
        for model in [byMacro, byHand] as [Model] {
            model["name"] = "Pochi"
            model["breed"] = "Shiba"
        }
        #expect(Transcript.state(of: byMacro) == Transcript.state(of: byHand))
    }

    @Test func `declarations have the keys, the access and the policy of the attributes`() {
        #expect(ByMacro.City.name.keys == City.name.keys)
        #expect(ByMacro.District.city.keys == ["city_id"])
        #expect(ByMacro.City.id.access == .server)
        #expect(ByMacro.City.isExpanded.access == .transient)
        #expect(ByMacro.House.code.policy == .reject)
        #expect(ByMacro.House.storeys.policy == .keep)
    }

    @Test func `setters set the dirty bit, notify observers, and obey the rules`() throws {
        let house = try ByMacro.House(json: ["code": "12345", "storeys": 4, "closed": "1970-01-01T00:00:00Z"])
        var events: [[String]] = []
        let token = house.observe { event in events.append(event.changes.map(\.key)) }
        house.code = "123"
        #expect(house.code == "12345" && house.rejections.map(\.rule) == ["postalCode"])
        house.transaction {
            house.storeys = 3
            house.closed = nil
        }
        #expect(house.violations.map(\.rule) == ["even"])
        #expect(house.changedJSON == ["storeys": 3, "closed": nil])
        house.rollback()
        #expect(house.storeys == 4 && house.closed == Date(timeIntervalSince1970: 0))
        #expect(events == [["storeys", "closed"], ["storeys", "closed"]])
        _ = token
    }

    @Test func `a transient property is observed, and is in no JSON`() throws {
        let city = try ByMacro.City(json: ["id": 1, "isExpanded": true])
        #expect(!city.isExpanded && !city.repairs.contains { $0.path == "isExpanded" })
        let changes = Guarded(0)
        withObservationTracking {
            _ = city.isExpanded
        } onChange: {
            changes.withLock { $0 += 1 }
        }
        city.isExpanded = true
        #expect(changes.withLock { $0 } == 1)
        #expect(city.isExpanded && city.json == ["id": 1, "isExpanded": true] && city.changedJSON == [:])
    }

    @Test func `nested models and collections report changes to their owner`() throws {
        let city = try ByMacro.City(json: ["id": 1, "districts": [["id": 2, "name": "Gion", "city_id": 1]]])
        var paths: [String] = []
        let token = city.observe { event in paths += event.changes.map { "\($0.path.map(\.key))" } }
        city.mayor.name = "Tanaka"
        city.districts[0].name = "Higashiyama"
        #expect(paths.first == #"["mayor", "name"]"# && paths.count == 2)
        #expect(city.changedJSON["mayor"] == ["name": "Tanaka"])
        #expect(city.districts[0].city.id == ModelID(json: 1))
        _ = token
    }
}

/// A class that refers to objects of another one.
@Modeled private final class Loan: Model {
    @Nullable @Key("city_id") var city: TypedID<City>?
    var others: [TypedID<City>] = []
}

extension ModeledTests {
    @Test func `a class refers to objects by their ids, also before they have one`() throws {
        let context = ModelContext()
        let city = City()
        let loan = Loan()
        try context.register(city)
        try context.register(loan)
        loan.city = city.typedID
        loan.others = [city.typedID]
        #expect(loan.json["city_id"] == .string(city.localID.description))
        try city.merge(["id": 5])
        let five = TypedID<City>(5)
        #expect(loan.city == five && loan.others == [five])
        #expect(loan.json == ["city_id": 5, "others": [5]])
        #expect(try Loan.decoded(from: ["city_id": ["id": 5, "name": "Oslo"]]).city == five)
    }
}

/// The observable states of models, to compare twins.
private enum Transcript {
    /// Returns the states of an object that reads the first JSON, merges the second, is set to the third, is rolled
    /// back and is marked as synced.
    static func life<M: Model>(of type: M.Type, _ json: [JSONValue]) throws -> [[String]] {
        let model = try M.decoded(from: json[0])
        var states = [state(of: model)]
        func step(_ body: () throws -> Void) {
            do { try body() } catch { states.append(["\(error)"]) }
            states.append(state(of: model))
        }
        step { try model.merge(json[1]) }
        guard case .object(let values) = json[2] else { return states }
        for key in values.keys.sorted() { step { model[key] = values[key] } }
        step { model.rollback() }
        step { model.markSynced() }
        return states
    }

    static func state(of model: Model) -> [String] {
        [
            "\(model.json)", "\(model.changedJSON)", "\(JSONValue.object(model.snapshot))",
            "\(model.repairs)", "\(model.violations)", "\(model.rejections)", "\(model.dirtyProperties.map(\.key))",
            "\(model.isDirty)", "\(model.isNew)",
        ]
    }
}
#endif
