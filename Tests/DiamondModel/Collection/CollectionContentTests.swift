import Diamond
import DiamondModel
import DiamondTestSupport
import Testing

/// The content of collections: lists that are refused, rejected elements, and the JSON that owners write.
@Suite("The content of a collection") struct CollectionContentTests {
    private let context = ModelContext()

    private func items(_ json: JSONValue) throws -> ModelCollection<Item> {
        let items = ModelCollection<Item>(context: context)
        try items.set(json)
        return items
    }

    /// Checks that a change is refused and has no effect.
    private func expectRefusal(
        of items: ModelCollection<Item>, _ code: ModelError.Code, _ change: () throws -> Void
    ) {
        let before = (items.allModels.map(ObjectIdentifier.init), items.map(\.id), items.generation, items.json)
        var events = 0
        let token = items.observeEvents { _ in events += 1 }
        #expect { try change() } throws: { ($0 as? ModelError)?.code == code }
        #expect(items.allModels.map(ObjectIdentifier.init) == before.0)
        #expect(items.map(\.id) == before.1 && items.generation == before.2 && items.json == before.3)
        #expect(events == 0)
        token.cancel()
    }

    @Test func `setting a list with a model that the collection refuses changes nothing`() throws {
        let live = try items([["id": 1], ["id": 2, "rank": 7], ["id": 3]])
        let draft = Item()
        let copy = live[1].copy()
        expectRefusal(of: live, .duplicateID) { try live.set([draft, live[2], copy]) }
        expectRefusal(of: live, .duplicateID) { try live.set([copy]) }
        expectRefusal(of: live, .duplicateID) { try live.set([draft, Item.make(8), Item.make(8)]) }
        #expect(draft.context == nil)
        let strange = try ModelCollection([Item.make(9)], context: ModelContext())
        expectRefusal(of: live, .otherContext) { try live.set([draft, strange[0]]) }
        try live.set([draft, live[2]])
        #expect(draft.context === context && live.map(\.rank) == [0, 0])
    }

    @Test func `a collection of copies adopts the context of a list's first model only if none of the copies stays`()
        throws
    {
        let copies = try ModelCollection([Item.make(1), Item.make(2)])
        let live = try items([["id": 7], ["id": 8]])
        expectRefusal(of: copies, .otherContext) { try copies.set([live[0], copies[0]]) }
        expectRefusal(of: copies, .otherContext) { try copies.set([Item.make(3), live[0]]) }
        try copies.set([live[0], Item.make(3)])
        #expect(copies.map(\.id) == [7, 3] && copies.context === context)
    }

    @Test func `a union or replacement with a model that the collection refuses changes nothing`() throws {
        let live = try items([["id": 1], ["id": 2]])
        let gone = live[1]
        live.remove(gone)
        let others = try ModelCollection([Item.make(5), gone.copy()])
        expectRefusal(of: live, .duplicateID) { try live.formUnion(others) }
        #expect(others[0].context == nil)
        live.sortKeys = [.by(\.rank, named: "rank")]
        expectRefusal(of: live, .duplicateID) { try live.replace(at: 0, with: gone.copy()) }
        try live.replace(at: 0, with: gone)
        #expect(live.map(\.id) == [2])
    }

    @Test func `a bad element of repeated upserts is rejected once`() throws {
        let live = try items([["id": 1]])
        for _ in 0..<3 { try live.upsert([7, ["rank": 1], ["id": nil], ["id": 2], 7]) }
        #expect(live.rejected.map(\.json) == [7, ["rank": 1], ["id": nil], 7])
        try live.upsert([["rank": 1]])
        #expect(live.rejected.count == 4)
        #expect(live.map(\.id) == [1, 2])
    }

    @Test func `a rejected element is replaced by a later element with its id`() throws {
        let accounts = ModelCollection<Account>(context: context)
        try accounts.set([["id": 1, "balance": 5]])
        for balance in 1...3 { try accounts.upsert([["id": 1, "balance": .integer(Int64(-balance))]]) }
        #expect(accounts.rejected.map(\.json) == [["id": 1, "balance": -3]])
        #expect(accounts.rejected.map(\.error.violations.first?.rule) == ["range"])
        #expect(accounts[0].balance == 5)
        try accounts.upsert([["id": 1, "balance": 6]])
        #expect(accounts.rejected.isEmpty && accounts[0].balance == 6)
    }

    @Test(arguments: [[["id": 1, "name": "A"]], [], nil, 7] as [JSONValue])
    func `a nested collection that was synced on its own is written in its current state`(read: JSONValue) throws {
        let city = try context.model(City.self, from: ["id": 1, "districts": read])
        #expect(city.json["districts"] == read)
        let now: JSONValue = [["id": 2, "name": "B", "more": true], 7]
        try city.districts.set(now)
        #expect(!city.isDirty && city.json["districts"] == now)
        try city.districts.add(District())
        city.districts.markAllSynced()
        #expect(city.json["districts"] == [["id": 2, "name": "B", "more": true], 7, ["name": "", "city_id": nil]])
        try city.districts.set([] as JSONValue)
        let isArray = if case .array = read { true } else { false }
        #expect(city.json["districts"] == (isArray ? [] : read))
    }
}

extension ModelCollection {
    fileprivate func markAllSynced() {
        for model in allModels { model.markSynced() }
    }
}
