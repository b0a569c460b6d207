import Diamond
import DiamondModel
import DiamondTestSupport
import Foundation
import Observation
import Synchronization
import Testing

@Suite("A change set") struct ChangeSetTests {
    private let items: ModelCollection<Item>

    init() throws { items = try ModelCollection((1...5).map { Item.make($0, rank: $0) }) }

    private func changes(of body: () throws -> Void) rethrows -> [ChangeSet<Item>] {
        var changes: [ChangeSet<Item>] = []
        let token = items.observe { changes.append($0) }
        try body()
        token.cancel()
        return changes
    }

    @Test func `a transaction is one change set, a nested one too`() throws {
        let changes = try changes {
            try items.transaction {
                try items.append(Item.make(6))
                try items.transaction { _ = try items.remove(at: 0) }
                items[0].version = 1
            }
        }
        #expect(changes.count == 1)
        #expect(changes[0].insertions.map(\.path) == [RowPath(section: 0, row: 4)])
        #expect(changes[0].deletions.map(\.path) == [RowPath(section: 0, row: 0)])
        #expect(changes[0].updates.map(\.old.row) == [1])
        #expect(changes[0].updates.map(\.new.row) == [0])
        #expect(changes[0].oldCounts == [5])
        #expect(changes[0].newCounts == [5])
        #expect(changes[0].newGeneration == items.generation)
    }

    @Test func `each change has its reason`() throws {
        let all = try changes {
            try items.add(Item.make(6))
            try items.insert(Item.make(7), at: 0)
            items.filters["even"] = Filter { $0.id % 2 == 0 }
            items.filters["even"] = nil
            items.remove(items[0])
            try items.move(from: 0, to: 1)
            try items.swapAt(0, 4)
            try items.replace(at: 0, with: Item.make(8))
        }
        #expect(
            all.flatMap(\.insertions).map(\.reason) == [.added, .inserted] + Array(repeating: .unfiltered, count: 4) + [
                .replaced
            ])
        #expect(
            all.flatMap(\.deletions).map(\.reason) == Array(repeating: .filtered, count: 4) + [.removed, .replaced])
        #expect(Set(all.flatMap(\.moves).map(\.reason)) == [.moved, .exchanged])
    }

    @Test func `a row that changes while it is filtered out, and comes back in the transaction, is updated`() throws {
        // So many that all rows are arranged again.
        let many = try ModelCollection((1...150).map { Item.make($0) })
        let item = many[0]
        var updated: [Item] = []
        let token = many.observe { updated += $0.updates.map(\.model) }
        many.transaction {
            many.filters["none"] = Filter { _ in false }
            item.version = 1
            many.filters = [:]
        }
        #expect(updated.contains { $0 === item })
        token.cancel()
    }

    @Test func `names its origin`() throws {
        let gesture = ChangeOrigin()
        let changes = try changes {
            try items.transaction(origin: gesture) { try items.move(from: 0, to: 4) }
            try items.move(from: 0, to: 4)
        }
        #expect(changes.map { $0.origin === gesture } == [true, false])
        #expect(changes[0].moves.map { [$0.from.row, $0.to.row] } == [[0, 4]])
    }

    @Test func `observers are notified before and after a change`() throws {
        var heard: [String] = []
        let token = items.observeEvents { [items] event in
            switch event {
            case .willChange: heard.append("will \(items.count)")
            case .didChange(let changes): heard.append("did \(items.count) \(changes.insertions.count)")
            }
        }
        try items.transaction {
            try items.append(Item.make(6))
            try items.append(Item.make(7))
        }
        #expect(heard == ["will 5", "did 7 2"])
        token.cancel()
    }

    @Test func `more changes than the limit are a reset`() throws {
        items.resetLimit = 3
        let all = try changes {
            try items.set(items.models.reversed() + [Item.make(6), Item.make(7)])
            try items.append(Item.make(8))
        }
        #expect(all.map(\.isReset) == [true, false])
        #expect(all[0].insertions.isEmpty)
    }

    @Test
    func `a change that an observer makes is reported after the current change, to all observers in the same order`()
        throws
    {
        var first: [Int] = []
        var second: [Int] = []
        let tokens = [
            items.observe { [items] changes in
                first.append(changes.newGeneration)
                if items.count == 6 { _ = try? items.append(Item.make(7)) }
            },
            items.observe { second.append($0.newGeneration) },
        ]
        try items.append(Item.make(6))
        #expect(first.count == 2)
        #expect(first == second)
        for token in tokens { token.cancel() }
    }

    @Test func `the collection observes nested models one level deep`() throws {
        let cities = ModelCollection<City>(context: ModelContext())
        try cities.set([["id": 1, "mayor": ["name": "A"]]])
        var updates = 0
        var keys: [String] = []
        let tokens = [
            cities.observe { updates += $0.updates.count }, cities.observeModels { keys += $0.changes.map(\.key) },
        ]
        cities[0].mayor.name = "B"
        #expect(updates == 1)
        #expect(keys == ["mayor.name"])
        cities.observedDepth = 0
        cities[0].mayor.name = "C"
        #expect(updates == 1)
        for token in tokens { token.cancel() }
    }

    @Test func `Observation reports a change of the visible rows`() throws {
        let fired = Mutex(0)
        withObservationTracking {
            _ = items.count
        } onChange: {
            fired.withLock { $0 += 1 }
        }
        try items.append(Item.make(6))
        #expect(fired.withLock { $0 } == 1)
    }

    @Test func `setting all rows in a new order reports as few moves as Heckel's algorithm finds`() throws {
        let changes = try changes { try items.set([5, 1, 2, 3, 4].compactMap { items[id: ModelID($0)] }) }
        #expect(changes.count == 1)
        #expect(changes[0].moves.map { [$0.from.row, $0.to.row] } == [[4, 0]])
    }
}
