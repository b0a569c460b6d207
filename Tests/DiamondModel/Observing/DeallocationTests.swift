import Diamond
import DiamondModel
import DiamondTestSupport
import Observation
import Testing

@Suite("Objects that the app releases") struct DeallocationTests {
    /// Weak references to the objects of a test.
    private final class Watch {
        private var references: [(name: String, isAlive: () -> Bool)] = []

        func add(_ object: AnyObject, _ name: String) {
            references.append((name, { [weak object] in object != nil }))
        }

        func add(_ objects: some Sequence<AnyObject>, _ name: String) {
            for object in objects { add(object, name) }
        }

        /// The names of the objects that are still alive.
        var alive: [String] { references.filter { $0.isAlive() }.map(\.name) }
    }

    private let watch = Watch()

    private func cities(in context: ModelContext) throws -> ModelCollection<City> {
        let cities = ModelCollection<City>(context: context)
        try cities.set([
            [
                "id": 1, "name": "Nara", "mayor": ["id": 1],
                "districts": [["id": 1, "city_id": 1], ["id": 2, "city_id": 1]],
            ],
            ["id": 2, "mayor": ["id": 1], "districts": [["id": 3, "city_id": 2], 7]], ["id": 3],
        ])
        return cities
    }

    private func watch(_ cities: ModelCollection<City>) {
        watch.add(cities, "collection")
        watch.add(cities.allModels, "city")
        watch.add(cities.allModels.map(\.mayor), "mayor")
        watch.add(cities.allModels.map(\.districts), "districts")
        watch.add(cities.allModels.flatMap(\.districts.allModels), "district")
    }

    @Test func `a context with models, nested collections and parents is deallocated`() throws {
        do {
            let context = ModelContext()
            let cities = try cities(in: context)
            for district in cities[0].districts { district.city = ParentReference(cities[0]) }
            watch.add(context, "context")
            watch(cities)
            #expect(watch.alive.count > 10)
        }
        #expect(watch.alive.isEmpty)
    }

    @Test func `a collection that was changed and merged is deallocated`() throws {
        do {
            let cities = try cities(in: ModelContext())
            watch(cities)
            cities.sortKeys = [.by(\.name, named: "name")]
            cities.filters["name"] = Filter { !$0.name.isEmpty }
            cities.sectionRule = .by(\.name)
            let gone = cities.allModels[2]
            cities.remove(gone)
            try cities.add(City())
            try cities.replace(at: 0, with: City())
            try cities.upsert([["id": 1, "mayor": ["id": 2], "districts": [["id": 2]]], ["id": 4]])
            cities.allModels[0].mayor = Person()
            cities.allModels[0].rollback()
            watch(cities)
            watch(cities.copy(.models))
            watch(cities.copy())
            cities.filters = [:]
            cities.transaction { cities.removeAll() }
        }
        #expect(watch.alive.isEmpty)
    }

    @Test func `observers and their closures are deallocated`() throws {
        do {
            let cities = try cities(in: ModelContext())
            let city = cities[0]
            watch(cities)
            final class Screen {
                var tokens: [ObserverToken] = []
                var heard = 0
            }
            let screen = Screen()
            watch.add(screen, "screen")
            screen.tokens = [
                cities.observe { [weak screen] _ in screen?.heard += 1 },
                cities.observeEvents { [weak screen] _ in screen?.heard += 1 },
                cities.observeModels { [weak screen] _ in screen?.heard += 1 },
                city.observe { [weak screen] _ in screen?.heard += 1 },
                city.observe(City.name) { [weak screen] _ in screen?.heard += 1 },
            ]
            city.name = "Kyoto"
            city.districts[0].name = "D"
            #expect(screen.heard > 4)
            watch.add(screen.tokens, "token")
            // A released token releases what its closure retains, although the model is alive.
            let held = Person()
            watch.add(held, "held by a closure")
            _ = cities.observe { [held] _ in _ = held }
            let token = city.observe { [held] _ in _ = held }
            token.cancel()
        }
        #expect(watch.alive.isEmpty)
    }

    @Test func `an observer that owns the token of another one is canceled with it`() {
        let person = Person()
        var heard = 0
        func observer(owning token: ObserverToken) -> (ModelEvent) -> Void {
            { _ in withExtendedLifetime(token) { heard += 1 } }
        }
        let token = person.observe(observer(owning: person.observe { _ in heard += 1 }))
        person.name = "A"
        #expect(heard == 2)
        token.cancel()
        person.name = "B"
        #expect(heard == 2)
    }

    @Test func `a table and its collection are deallocated`() throws {
        do {
            let items = try ModelCollection((1...5).map { Item.make($0) })
            let table = CollectionTable(items)
            items[0].version += 1
            try items.move(from: 0, to: 3)
            #expect(table.failure == nil && table.batches == 2)
            watch.add(items, "collection")
            watch.add(table, "table")
            watch.add(items, "item")
        }
        #expect(watch.alive.isEmpty)
    }

    @Test func `change sets retain their models, and nothing else`() throws {
        var changes: [ChangeSet<City>] = []
        do {
            let cities = try cities(in: ModelContext())
            watch.add(cities, "collection")
            let token = cities.observe { changes.append($0) }
            let city = cities[0]
            watch.add(city, "city")
            cities.remove(city)
            token.cancel()
        }
        #expect(watch.alive == ["city"])
        changes = []
        #expect(watch.alive.isEmpty)
    }

    @Test func `models are deallocated whether their event sequences are read to the end, partly, or never`()
        async throws
    {
        do {
            let cities = try cities(in: ModelContext())
            let city = cities[0]
            watch(cities)
            let unheard = cities.changes()
            var events = city.changes().makeAsyncIterator()
            let names = city.changes(\.name)
            city.name = "Kyoto"
            city.name = "Kobe"
            #expect(await events.next(isolation: #isolation)?.changes.map(\.key) == ["name"])
            for await change in names where change.new == "Kobe" { break }
            _ = unheard
        }
        #expect(watch.alive.isEmpty)
    }

    @Test func `a sequence ends with its model, and does not retain it`() async throws {
        func changedNames() -> some AsyncSequence<ValueChange<String>, Never> {
            let person = Person()
            watch.add(person, "person")
            let names = person.changes(\.name)
            person.name = "A"
            return names
        }
        let names = changedNames()
        #expect(watch.alive.isEmpty)
        var heard: [String] = []
        for await change in names { heard.append(change.new) }
        #expect(heard == ["A"])
    }

    @Test func `models that Observation still tracks are deallocated`() throws {
        do {
            let cities = try cities(in: ModelContext())
            watch(cities)
            withObservationTracking {
                _ = cities.map(\.name)
                _ = cities[0].mayor.name
                _ = cities[0].districts.count
            } onChange: {
            }
        }
        #expect(watch.alive.isEmpty)
    }

    @Test func `a collection that an observer releases and models that a merge replaces are deallocated`() throws {
        do {
            let context = ModelContext()
            var cities: ModelCollection<City>? = try cities(in: context)
            if let cities { watch(cities) }
            let city = cities?[0]
            let token = city?.observe { _ in cities = nil }
            city?.name = "Kyoto"
            #expect(cities == nil)
            try city?.merge(["mayor": ["id": 9], "districts": []])
            #expect(watch.alive.filter { $0 == "district" }.isEmpty)
            token?.cancel()
        }
        #expect(watch.alive.isEmpty)
    }

    @Test func `models that contain each other are deallocated after they have left their collections`() throws {
        do {
            let (left, right) = (Ring(), Ring())
            try left.others.append(right)
            try right.others.append(left)
            watch.add([left, right], "ring")
            left.name = "x"
            left.leaveCollections()
        }
        #expect(watch.alive.isEmpty)
    }

    @Test func `a refused merge leaves no new models in the context`() throws {
        let context = ModelContext()
        let wallet: Wallet = try context.model(from: ["id": 1, "limit": 1])
        let before = context.count
        #expect(throws: ModelError.self) {
            try wallet.merge(["limit": 0, "account": ["id": 2], "spare": ["id": 3], "accounts": [["id": 4]]])
        }
        #expect(context.count == before)
    }
}
