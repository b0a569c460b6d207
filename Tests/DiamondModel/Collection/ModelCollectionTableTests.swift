import DiamondTestSupport
import Foundation
import Testing

@testable import DiamondModel

/// Random changes through the public interface, each batch performed by a table that refuses what UIKit refuses.
@Suite struct ModelCollectionTableTests {
    @Test(arguments: [false, true], [false, true])
    func `A table follows every change of a collection`(isSectioned: Bool, reenters: Bool) {
        var random = SplitMix(state: Effort.seed)
        var batches = 0
        while batches < Effort.rounds(1500, soaking: 50_000) {
            let game = Game(isSectioned: isSectioned, reenters: reenters, &random)
            for _ in 0..<20 where game.problem == nil { game.turn(&random) }
            #expect(game.problem == nil, "seed \(Effort.seed), \(batches) batches before")
            if game.problem != nil { return }
            batches += max(game.table.batches, 1)
        }
    }

    @Test func `A table follows a large collection, whose rows lie in many chunks`() {
        var random = SplitMix(state: Effort.seed)
        let game = Game(isSectioned: false, reenters: false, &random, size: 1500)
        for _ in 0..<Effort.rounds(60, soaking: 5000) where game.problem == nil { game.turn(&random) }
        #expect(game.problem == nil, "seed \(Effort.seed)")
    }
}

/// A collection, a naive list of the same models, and a table.
private final class Game {
    private let collection = ModelCollection<Item>()
    private(set) var table: CollectionTable
    /// All models in the insertion order.
    private var models: [Item] = []
    /// Whether rows were put out of the sort order by hand, so that only the table can be compared.
    private var isPinned = false
    private var nextID = 1
    private let reenters: Bool
    private var token: ObserverToken?
    private(set) var problem: String?

    init(isSectioned: Bool, reenters: Bool, _ random: inout SplitMix, size: Int = 12) {
        self.reenters = reenters
        let count = random.below(size) + size / 2
        table = CollectionTable(collection)
        if isSectioned { collection.sectionRule = .by(\.group) }
        collection.transaction { for _ in 0..<count { add(&random) } }
        table = CollectionTable(collection)
        if reenters { token = collection.observe { [unowned self] in answer($0) } }
    }

    /// What an observer does that changes the collection while it is told of a change.
    private func answer(_ changes: ChangeSet<Item>) {
        guard changes.insertions.count % 3 == 1, changes.updates.isEmpty else { return }
        changes.insertions[0].model.version += 1
    }

    func turn(_ random: inout SplitMix) {
        collection.transaction {
            for _ in 0..<(1 + random.below(6)) { change(&random) }
        }
        check()
    }

    private func change(_ random: inout SplitMix) {
        let count = collection.count
        let index = count == 0 ? 0 : random.below(count)
        switch random.below(16) {
        case 0...1: add(&random)
        case 2: insert(make(&random), at: random.below(count + 1))
        case 3 where count > 0: models.removeAll { $0 === collection[index] }; _ = try? collection.remove(at: index)
        case 4 where !models.isEmpty: collection.remove(models.remove(at: random.below(models.count)))
        case 5 where count > 0: move(from: index, to: random.below(count))
        case 6 where count > 1: exchange(index, random.below(count))
        case 7 where count > 0: replace(at: index, &random)
        case 8 where !models.isEmpty: models[random.below(models.count)].version += 1
        case 9...10 where !models.isEmpty: models[random.below(models.count)].rank = random.below(10)
        case 11 where !models.isEmpty: models[random.below(models.count)].group = ["a", "b", "c", "d"][random.below(4)]
        case 12: toggleFilter(below: random.below(8))
        case 13: toggleSort(&random)
        case 14 where random.below(4) == 0: setAll(&random)
        case 15 where !models.isEmpty: removeAndAdd(&random)
        default: break
        }
    }

    private func make(_ random: inout SplitMix) -> Item {
        defer { nextID += 1 }
        return Item.make(nextID, rank: random.below(10), group: ["a", "b", "c", "d"][random.below(4)])
    }

    private func add(_ random: inout SplitMix) {
        let item = make(&random)
        models.append(item)
        _ = try? collection.add(item)
    }

    private func insert(_ item: Item, at index: Int) {
        let next = index < collection.count ? collection[index] : nil
        models.insert(item, at: next.flatMap { next in models.firstIndex { $0 === next } } ?? models.count)
        _ = try? collection.insert(item, at: index)
        if !collection.sortKeys.isEmpty { isPinned = true }
    }

    private func move(from index: Int, to target: Int) {
        let item = collection[index]
        try? collection.move(from: index, to: target)
        follow(item, index == target)
    }

    private func exchange(_ first: Int, _ second: Int) {
        let items = [collection[first], collection[second]]
        try? collection.exchange(first, second)
        if first != second { models = collection.allModels; if !collection.sortKeys.isEmpty { isPinned = true } }
        _ = items
    }

    private func replace(at index: Int, _ random: inout SplitMix) {
        let item = make(&random)
        let old = collection[index]
        _ = try? collection.replace(at: index, with: item)
        models.removeAll { $0 === old }
        models.append(item)
        follow(item, false)
    }

    /// Takes over where the collection has put an item: the list below has no better idea of it.
    private func follow(_ item: Item, _ isUnchanged: Bool) {
        if isUnchanged { return }
        models = collection.allModels
        if !collection.sortKeys.isEmpty { isPinned = true }
    }

    private func toggleFilter(below rank: Int) {
        collection.filters["rank"] = collection.filters["rank"] == nil ? Filter { $0.rank >= rank } : nil
        filterRank = collection.filters["rank"] == nil ? 0 : rank
    }

    private var filterRank = 0

    private func toggleSort(_ random: inout SplitMix) {
        isPinned = false
        switch random.below(3) {
        case 0: collection.sortKeys = []
        case 1: collection.sortKeys = [.by(\.rank, named: "rank")]
        default: collection.sortKeys = [.by(\.rank, .reverse, named: "rank"), .by(\.version, named: "version")]
        }
    }

    private func setAll(_ random: inout SplitMix) {
        models = models.filter { _ in random.below(4) > 0 }
        for _ in 0..<random.below(5) { models.append(make(&random)) }
        models.shuffle(using: &random)
        try? collection.set(models)
        isPinned = false
    }

    private func removeAndAdd(_ random: inout SplitMix) {
        let item = models.remove(at: random.below(models.count))
        collection.remove(item)
        models.append(item)
        _ = try? collection.add(item)
    }

    // MARK: Checking

    private func check() {
        if let failure = table.failure { problem = failure; return }
        if table.table.shown != table.expected {
            problem = "the table shows \(table.table.shown), not \(table.expected)"
            return
        }
        if collection.allModels.map(\.id) != models.map(\.id) { problem = "the insertion order differs"; return }
        if !isPinned, collection.map(\.id) != naive.map(\.id) {
            problem = "the collection shows \(collection.map(\.id)), not \(naive.map(\.id))"
        }
        for (index, item) in collection.enumerated() where collection.index(of: item) != index {
            problem = "the index of row \(index) differs"
        }
    }

    /// The rows as a list would filter and sort them.
    private var naive: [Item] {
        let visible = models.filter { collection.filters.isEmpty || $0.rank >= filterRank }
        let keys = collection.sortKeys
        return visible.enumerated().sorted { left, right in
            if collection.sectionRule != nil, left.element.group != right.element.group {
                return left.element.group < right.element.group
            }
            for key in keys {
                let order = key.compare(left.element, right.element)
                if order != .orderedSame { return order == .orderedAscending }
            }
            return left.offset < right.offset
        }.map(\.element)
    }
}
