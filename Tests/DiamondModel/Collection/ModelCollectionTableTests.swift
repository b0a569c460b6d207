import DiamondModel
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

/// Random changes through the public interface, each batch performed by a table that refuses what UIKit refuses.
@Suite("A table under random changes of a collection") struct ModelCollectionTableTests {
    // A tenth of the long form has at least 100,000 batches in all four tests together.
    @Test(arguments: [false, true], [false, true])
    func `a table follows every change of a collection`(isSectioned: Bool, reenters: Bool) {
        var random = SplitMix(state: Effort.seed)
        var batches = 0
        while batches < Effort.rounds(750, soaking: 260_000) {
            let game = Game(isSectioned: isSectioned, reenters: reenters, &random)
            for _ in 0..<20 where game.problem == nil { game.turn(&random) }
            #expect(game.problem == nil, "seed \(Effort.seed), \(batches) batches before")
            if game.problem != nil { return }
            batches += max(game.table.batches, 1)
        }
    }

    @Test(arguments: [false, true])
    func `a table follows a large collection, whose rows lie in many chunks`(isSectioned: Bool) {
        var random = SplitMix(state: Effort.seed)
        let game = Game(isSectioned: isSectioned, reenters: false, &random, size: 1500)
        for _ in 0..<Effort.rounds(30, soaking: 5000) where game.problem == nil { game.turn(&random) }
        #expect(game.problem == nil, "seed \(Effort.seed)")
    }

    @Test func `a table shows rows that were hidden by a change that was too large for a change set`() throws {
        let items = try ModelCollection((0..<600).map { Item.make($0) })
        items.resetLimit = 100
        let table = CollectionTable(items)
        items.transaction {
            items.filters["even"] = Filter { $0.id % 2 == 0 }
            items.sortKeys = [.by(\.id, order: .reverse, named: "id")]
        }
        #expect(table.resets == 1)
        items.resetLimit = .max
        items.filters = [:]
        #expect(table.batches == 1)
        #expect(table.failure == nil)
        #expect(table.counts == [600])
    }

    @Test func `rows have their old indexes while very many rows enter between them`() throws {
        let items = try ModelCollection((0..<400).map { Item.make($0) })
        items.resetLimit = .max
        let table = CollectionTable(items)
        for round in 1...3 {
            try items.transaction {
                for number in 0..<600 {
                    try items.insert(Item.make(round * 1000 + number), at: 100 + number / 2)
                    if number % 5 == 0 { try items.remove(at: number % 90) }
                    if number % 7 == 0 { try items.move(from: items.count - 1 - number % 50, to: number) }
                    if number % 9 == 0 { items[items.count - 1 - number % 60].version += 1 }
                }
            }
        }
        #expect(table.failure == nil)
        #expect(table.batches == 3)
        #expect(table.resets == 0)
    }
}

/// A collection, a naive list as its reference, and a table.
private final class Game {
    private let collection = ModelCollection<Item>()
    private(set) var table: CollectionTable<Item>
    private var list: NaiveList
    private var nextID = 1
    private var token: ObserverToken?
    private(set) var problem: String?

    init(isSectioned: Bool, reenters: Bool, _ random: inout SplitMix, size: Int = 12) {
        let count = random.below(size) + size / 2
        list = NaiveList(isSectioned: isSectioned)
        table = CollectionTable(collection)
        if isSectioned { collection.sectionRule = .by(\.group) }
        collection.transaction { for _ in 0..<count { add(&random) } }
        table = CollectionTable(collection)
        if reenters { token = collection.observe { [unowned self] in answer($0) } }
    }

    /// Changes the collection while its observers are told of a change.
    private func answer(_ changes: ChangeSet<Item>) {
        guard changes.insertions.count % 3 == 1, changes.updates.isEmpty else { return }
        let item = changes.insertions[0].model
        if item.id % 4 == 0 {
            list.remove(item.id)
            collection.remove(item)
        } else {
            update(item, \.version, \.version, to: item.version + 1)
        }
    }

    func turn(_ random: inout SplitMix) {
        collection.transaction {
            for _ in 0..<(1 + random.below(6)) { change(&random) }
        }
        check()
    }

    private func change(_ random: inout SplitMix) {
        let count = list.shown.count
        let index = count == 0 ? 0 : random.below(count)
        switch random.below(17) {
        case 0...1: add(&random)
        case 2: insert(at: random.below(count + 1), &random)
        case 3 where count > 0:
            list.remove(list.shown[index])
            _ = try? collection.remove(at: index)
        case 4: anyItem(&random).map(remove)
        case 5 where count > 0: move(from: index, to: random.below(count))
        case 6 where count > 1: exchange(index, random.below(count))
        case 7 where count > 0: replace(at: index, &random)
        case 8: anyItem(&random).map { update($0, \.version, \.version, to: $0.version + 1) }
        case 9...10:
            let rank = random.below(10)
            anyItem(&random).map { update($0, \.rank, \.rank, to: rank) }
        case 11:
            let group = group(&random)
            anyItem(&random).map { update($0, \.group, \.group, to: group) }
        case 12: toggleFilter(from: random.below(8))
        case 13 where random.below(2) == 0: sort(&random)
        case 14 where random.below(4) == 0: setAll(&random)
        case 15: anyItem(&random).map(removeAndAdd)
        case 16 where count > 0: pop(isFirst: random.below(2) == 0)
        default: break
        }
    }

    private func anyItem(_ random: inout SplitMix) -> Item? {
        if list.order.isEmpty { return nil }
        return collection[id: ModelID(list.order[random.below(list.order.count)])]
    }

    private func group(_ random: inout SplitMix) -> String { ["a", "b", "c", "d"][random.below(4)] }

    private func make(_ random: inout SplitMix) -> (row: NaiveList.Row, item: Item) {
        defer { nextID += 1 }
        let row = NaiveList.Row(id: nextID, rank: random.below(10), group: group(&random))
        return (row, Item.make(row.id, rank: row.rank, group: row.group))
    }

    private func add(_ random: inout SplitMix) {
        let (row, item) = make(&random)
        list.add(row)
        _ = try? collection.add(item)
    }

    private func insert(at index: Int, _ random: inout SplitMix) {
        let (row, item) = make(&random)
        list.insert(row, at: index)
        _ = try? collection.insert(item, at: index)
    }

    private func remove(_ item: Item) {
        list.remove(item.id)
        collection.remove(item)
    }

    private func pop(isFirst: Bool) {
        let id = isFirst ? list.shown[0] : list.shown[list.shown.count - 1]
        let item = isFirst ? collection.popFirst() : collection.popLast()
        if item?.id != id { problem = "row \(item?.id ?? 0) came instead of \(id)" }
        list.remove(id)
    }

    private func move(from index: Int, to target: Int) {
        list.move(from: index, to: target)
        try? collection.move(from: index, to: target)
    }

    private func exchange(_ first: Int, _ second: Int) {
        list.exchange(first, second)
        try? collection.swapAt(first, second)
    }

    private func replace(at index: Int, _ random: inout SplitMix) {
        let (row, item) = make(&random)
        list.replace(at: index, with: row)
        _ = try? collection.replace(at: index, with: item)
    }

    private func update<Value>(
        _ item: Item, _ column: WritableKeyPath<NaiveList.Row, Value>,
        _ property: ReferenceWritableKeyPath<Item, Value>, to value: Value
    ) {
        list.update(item.id) { $0[keyPath: column] = value }
        item[keyPath: property] = value
    }

    private func toggleFilter(from rank: Int) {
        let smallest = list.smallestRank == nil ? rank : nil
        list.filter(from: smallest)
        collection.filters["rank"] = smallest.map { smallest in Filter { $0.rank >= smallest } }
    }

    private func sort(_ random: inout SplitMix) {
        let sort = [NaiveList.Sort.none, .rank, .rankAndVersion][random.below(3)]
        list.sort(by: sort)
        switch sort {
        case .none: collection.sortKeys = []
        case .rank: collection.sortKeys = [.by(\.rank, named: "rank")]
        case .rankAndVersion:
            collection.sortKeys = [.by(\.rank, order: .reverse, named: "rank"), .by(\.version, named: "version")]
        }
    }

    private func setAll(_ random: inout SplitMix) {
        var new = list.order.filter { _ in random.below(4) > 0 }.map { id in
            (row: list.row(id), item: collection[id: ModelID(id)])
        }
        for _ in 0..<random.below(5) {
            let (row, item) = make(&random)
            new.append((row, item))
        }
        new.shuffle(using: &random)
        list.set(new.map(\.row))
        try? collection.set(new.compactMap(\.item))
    }

    private func removeAndAdd(_ item: Item) {
        let row = list.row(item.id)
        remove(item)
        list.add(row)
        _ = try? collection.add(item)
    }

    // MARK: Checking

    private func check() {
        if let failure = table.failure { problem = failure; return }
        if table.table.shown != list.cells {
            problem = "the table shows \(table.table.shown), not \(list.cells)"
        } else if collection.map(\.id) != list.shown {
            problem = "the collection shows \(collection.map(\.id)), not \(list.shown)"
        } else if collection.allModels.map(\.id) != list.order {
            problem = "the insertion order is \(collection.allModels.map(\.id)), not \(list.order)"
        }
        for (index, item) in collection.enumerated() where collection.index(of: item) != index {
            problem = "the index of row \(index) differs"
        }
    }
}
