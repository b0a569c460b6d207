import Diamond
import DiamondModel
import DiamondTestSupport
import Foundation
import Testing

@Suite("A collection") struct ModelCollectionTests {
    private let items: ModelCollection<Item>

    init() throws { items = try ModelCollection((1...5).map { Item.make($0, rank: 10 - $0) }) }

    private var ids: [Int] { items.map(\.id) }

    @Test func `every mutating method inserts, moves and removes rows at the given positions`() throws {
        try items.append(Item.make(6))
        try items.insert(Item.make(7), at: 0)
        #expect(ids == [7, 1, 2, 3, 4, 5, 6])
        try items.move(from: 0, to: 2)
        #expect(ids == [1, 2, 7, 3, 4, 5, 6])
        try items.move(from: 6, to: 1)
        #expect(ids == [1, 6, 2, 7, 3, 4, 5])
        try items.swapAt(0, 3)
        #expect(ids == [7, 6, 2, 1, 3, 4, 5])
        #expect(try items.replace(at: 1, with: Item.make(8)).id == 6)
        #expect(items.popLast()?.id == 5)
        #expect(items.popFirst()?.id == 7)
        #expect(items.removeAll { $0.id < 3 }.map(\.id) == [2, 1])
        #expect(ids == [8, 3, 4])
        #expect(try items.remove(at: 1).id == 3)
        items.removeAll()
        #expect(items.isEmpty)
        #expect(items.popLast() == nil)
    }

    @Test func `contains a model or an id only once`() throws {
        let first = items[0]
        #expect(try items.add(first) == false)
        #expect { try items.add(Item.make(1)) } throws: { ($0 as? ModelError)?.code == .duplicateID }
        #expect { try items.replace(at: 0, with: Item.make(2)) } throws: { ($0 as? ModelError)?.code == .duplicateID }
        #expect { try items.set([first, Item.make(1)]) } throws: { ($0 as? ModelError)?.code == .duplicateID }
        #expect { try items.insert(Item.make(9), at: 6) } throws: { ($0 as? ModelError)?.code == .outOfRange }
        #expect { try items.move(from: 0, to: 5) } throws: { ($0 as? ModelError)?.code == .outOfRange }
        #expect { try items.merge(2, into: 1) } throws: { ($0 as? ModelError)?.code == .duplicateID }
        #expect(ids == [1, 2, 3, 4, 5])
        #expect(items[id: 1] === first)
        #expect(items.index(of: Item.make(1)) == nil)
    }

    @Test func `a model of another context is refused`() throws {
        let context = ModelContext()
        let own = ModelCollection<Item>(context: context)
        let strange = try ModelContext().model(Person.self, from: ["id": 1])
        _ = strange
        let other = ModelContext()
        let item = try other.model(Item.self, from: ["id": 9])
        #expect { try own.add(item) } throws: { ($0 as? ModelError)?.code == .otherContext }
        #expect { try items.add(item) } throws: { ($0 as? ModelError)?.code == .otherContext }
        #expect(own.isEmpty)
    }

    @Test func `sort keys order rows by priority and follow changes, and without them the insertion order returns`() {
        items.sortKeys = [.by(\.group, named: "group"), .by(\.rank, named: "rank")]
        #expect(ids == [5, 4, 3, 2, 1])
        items[0].group = "b"
        #expect(ids == [4, 3, 2, 1, 5])
        items[3].rank = 0
        #expect(ids == [1, 4, 3, 2, 5])
        items.sortKeys = [SortKey("rank", comparator: KeyPathComparator(\.rank, order: .reverse))]
        #expect(ids == [2, 3, 4, 5, 1])
        items.sortKeys = []
        #expect(ids == [1, 2, 3, 4, 5])
    }

    @Test func `a row that an observer of a changed row adds is in order`() throws {
        items.sortKeys = [.by(\.rank, named: "rank")]
        let added = Item.make(6, rank: 8)
        let token = items[2].observe { [items] _ in _ = try? items.add(added) }
        items[2].rank = 100
        #expect(ids == [5, 4, 2, 6, 1, 3])
        token.cancel()
    }

    @Test func `a row that was put somewhere by hand stays until its sort key changes`() throws {
        items.sortKeys = [.by(\.rank, named: "rank")]
        try items.append(Item.make(6, rank: 0))
        try items.add(Item.make(7, rank: 1))
        #expect(ids == [7, 5, 4, 3, 2, 1, 6])
        items[6].version = 1
        #expect(ids == [7, 5, 4, 3, 2, 1, 6])
        items[6].rank = 2
        #expect(ids == [7, 6, 5, 4, 3, 2, 1])
        try items.move(from: 0, to: 3)
        items.sort()
        #expect(ids == [7, 6, 5, 4, 3, 2, 1])
    }

    @Test func `filters hide models and keep them, and follow changes`() throws {
        items.filters["rank"] = Filter { $0.rank > 6 }
        #expect(ids == [1, 2, 3])
        items.filters["predicate"] = Filter(#Predicate { $0.rank < 9 })
        #expect(ids == [2, 3])
        #expect(items.allModels.count == 5)
        #expect(items[id: 5]?.rank == 5)
        #expect(items.index(of: items.allModels[4]) == nil)
        items.allModels[4].rank = 7
        #expect(ids == [2, 3, 5])
        items.filters["rank"] = nil
        items.filters["predicate"] = nil
        #expect(ids == [1, 2, 3, 4, 5])
    }

    @Test func `sections have their own order, titles, and rows`() throws {
        var rule = SectionRule<Item>.by(\.group)
        rule.precedes = { $0 > $1 }
        rule.title = { "Group \($0)" }
        rule.indexTitle = { $0.uppercased() }
        rule.permanentKeys = ["z"]
        items.sectionRule = rule
        items[1].group = "b"
        #expect(items.sections.map(\.key) == ["z", "b", "a"])
        #expect(items.sections.map(\.title) == ["Group z", "Group b", "Group a"])
        #expect(items.sectionIndexTitles == ["Z", "B", "A"])
        #expect(items.section(forIndexTitle: "A") == 2)
        #expect(ids == [2, 1, 3, 4, 5])
        #expect(items[RowPath(section: 2, row: 1)]?.id == 3)
        #expect(items[RowPath(section: 0, row: 0)] == nil)
        #expect(items.path(of: items[0]) == RowPath(section: 1, row: 0))
        items[0].group = "a"
        #expect(items.sections.map(\.key) == ["z", "a"])
        rule.keepsEmptySections = true
        items.sectionRule = rule
        items[0].group = "c"
        items[0].group = "a"
        #expect(items.sections.map(\.key) == ["z", "c", "a"])
    }

    @Test(arguments: [
        ("Émile", "E"), ("zoe", "Z"), ("Ｚ", "Z"), ("7up", "#"), ("", "#"), ("山田", "#"), ("がくせい", "か"), ("ｶﾅ", "か"),
        ("ヴァイオリン", "あ"), ("ゃ", "や"), ("ワタナベ", "わ"), ("んだ", "わ"), ("ぱんだ", "は"), ("っこ", "た"), ("りんご", "ら"),
    ]) func `initials are kana rows and Latin letters`(text: String, key: String) throws {
        let people = ModelCollection<Person>()
        people.sectionRule = .initials(of: \.name)
        try people.add(Person(json: ["name": .string(text)]))
        #expect(people.sections.map(\.key) == [key])
    }

    @Test func `sets of models are united, intersected and subtracted by their ids`() throws {
        let others = try ModelCollection([items[0], items[1], Item.make(9)])
        #expect(try items.union(others).map(\.id) == [1, 2, 3, 4, 5, 9])
        #expect(items.intersection(others).map(\.id) == [1, 2])
        #expect(items.subtracting(others).map(\.id) == [3, 4, 5])
        var changes: [ChangeSet<Item>] = []
        let token = items.observe { changes.append($0) }
        items.subtract(others)
        #expect(changes.map { $0.deletions.map(\.path.row) } == [[0, 1]])
        token.cancel()
    }

    @Test func `a bad element is stored as rejected with its reason, and written back`() throws {
        let json: JSONValue = [["id": 1, "rank": 1], ["rank": 2], 7, ["id": nil], ["id": "1"], ["id": 2]]
        let loaded = ModelCollection<Item>(context: ModelContext())
        try loaded.set(json)
        #expect(loaded.map(\.id) == [1, 2])
        #expect(loaded.rejected.map(\.index) == [1, 2, 3, 4])
        #expect(loaded.rejected.map(\.error.code) == [.missingID, .malformed, .missingID, .duplicateID])
        #expect(loaded.json == json)
        #expect(throws: ModelError.self) { try loaded.set(["id": 1]) }
        #expect(loaded.count == 2)
        let dogs = ModelCollection<Dog>(context: ModelContext())
        try dogs.upsert([["id": 1, "kind": "dog"]])
        #expect(dogs.count == 1)
    }

    @Test
    func
        `Upserting merges existing models and adds the others, and setting also removes models that the list does not contain`()
        throws
    {
        let context = ModelContext()
        let loaded = ModelCollection<Item>(context: context)
        try loaded.upsert([["id": 1, "rank": 1], ["id": 2, "rank": 2]])
        let first = loaded[0]
        try loaded.upsert([["id": 3], ["id": 1, "rank": 5]])
        #expect(loaded.map(\.id) == [1, 2, 3])
        #expect(first.rank == 5)
        try loaded.set([["id": 3], ["id": 1]])
        #expect(loaded.map(\.id) == [3, 1])
        #expect(loaded[1] === first)
        #expect(first.rank == 5)
    }

    @Test func `an archive has the models and the names of filters and sort keys`() throws {
        items.filters["rank"] = Filter { $0.rank > 6 }
        items.sortKeys = [.by(\.rank, named: "rank")]
        let archive = try JSONEncoder().encode(items)
        let back = try JSONDecoder().decode(ModelCollection<Item>.self, from: archive)
        #expect(back.count == 5)
        back.restore(
            filters: ["rank": Filter { $0.rank > 6 }, "other": Filter { _ in false }],
            sortKeys: [.by(\.id, named: "id"), .by(\.rank, named: "rank")])
        #expect(back.map(\.id) == ids)
        #expect(back.filters.keys.sorted() == ["rank"])
    }

    @Test func `a copy shares the models or copies them`() {
        let shared = items.copy()
        let copied = items.copy(.models)
        #expect(shared[0] === items[0])
        #expect(copied[0] !== items[0])
        #expect(copied.map(\.id) == ids)
        items.removeAll()
        #expect(shared.count == 5)
    }

    @Test func `a model leaves all its collections`() throws {
        let second = try ModelCollection([items[2], items[1]])
        items[2].leaveCollections()
        #expect(ids == [1, 2, 4, 5])
        #expect(second.map(\.id) == [2])
    }

    @Test func `a collection that is deallocated does not affect its models`() throws {
        let item = Item.make(1)
        do { _ = try ModelCollection([item]) }
        item.rank = 3
        #expect(item.rank == 3)
    }
}

extension ModelCollection<Item> {
    fileprivate func merge(_ id: Int64, into index: Int) throws { try self[index - 1].merge(["id": .integer(id)]) }
}
