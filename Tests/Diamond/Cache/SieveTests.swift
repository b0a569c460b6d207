import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Testing

@testable import Diamond

@Suite("SIEVE") struct SieveTests {
    private func filled(_ count: Int) -> Sieve<Int, String> {
        var sieve = Sieve<Int, String>(capacity: count)
        for key in 0..<count { sieve.insert("\(key)", under: key, cost: 1) }
        return sieve
    }

    @Test func `spares used items, and evicts the oldest unused one`() {
        var sieve = filled(10)
        for key in 0..<5 { _ = sieve.use(key) }
        sieve.insert("10", under: 10, cost: 1)
        sieve.insert("11", under: 11, cost: 1)
        #expect((0..<12).filter { sieve.use($0) == nil } == [5, 6])
    }

    @Test func `goes on where the hand stopped, and begins again after the newest item`() {
        var sieve = filled(3)
        _ = sieve.use(0)
        sieve.insert("3", under: 3, cost: 1)  // spares 0, takes 1
        sieve.insert("4", under: 4, cost: 1)  // takes 2
        for key in [3, 4] { _ = sieve.use(key) }
        sieve.insert("5", under: 5, cost: 1)  // spares 3 and 4, begins again, takes 0
        #expect([0, 1, 2].allSatisfy { sieve.use($0) == nil })
        #expect([3, 4, 5].allSatisfy { sieve.use($0) != nil })
    }

    @Test func `reports whether a use is the first since the hand passed`() {
        var sieve = filled(2)
        #expect(sieve.use(0)?.isFirst == true)
        #expect(sieve.use(0)?.isFirst == false)
        sieve.insert("2", under: 2, cost: 1)
        #expect(sieve.use(0)?.isFirst == true)
    }

    @Test func `does not store an item that costs more than its capacity`() {
        var sieve = filled(3)
        sieve.insert("big", under: 9, cost: 4)
        #expect(sieve.count == 3)
        sieve.insert("big", under: 0, cost: 4)
        #expect(sieve.use(0) == nil)
    }

    /// Compares with a reference implementation: an array with the oldest item first.
    @Test func `evicts the same items as a reference implementation, after any operations`() {
        var generator = SplitMix(state: Effort.seed)
        var sieve = Sieve<Int, Int>(capacity: 50)
        var plain = PlainSieve(capacity: 50)
        for _ in 0..<Effort.rounds(20_000, soaking: 2_000_000) {
            let key = Int.random(in: 0..<100, using: &generator)
            let cost = Int.random(in: 1...5, using: &generator)
            switch Int.random(in: 0..<10, using: &generator) {
            case 0..<5: #expect((sieve.use(key) != nil) == plain.use(key), "DIAMOND_SEED=\(Effort.seed)")
            case 5..<9:
                sieve.insert(cost, under: key, cost: cost)
                plain.insert(key, cost)
            default:
                sieve.remove(key)
                plain.remove(key)
            }
            #expect(sieve.cost == plain.cost && sieve.count == plain.items.count)
        }
    }

    /// Entries of one size, none of which is replaced: on disk a replaced entry keeps its place and counts as used,
    /// in memory it is the newest.
    @Test func `SIEVE in memory evicts the same entries as on disk`() throws {
        let temporary = TemporaryStore()
        let cache = try Cache(temporary.store, memoryCapacity: 0)
        let entries = try (0..<140).map { try CacheEntry.stub("\($0)") }
        var generator = SplitMix(state: Effort.seed)
        // More than the disk examines in one slice.
        var sieve = Sieve<Int64, Bool>(capacity: 100)
        for _ in 0..<Effort.rounds(1000, soaking: 100_000) {
            let entry = entries[Int.random(in: 0..<140, using: &generator)]
            let isKnown = sieve.use(entry.key.prefix) != nil
            let isFull = sieve.cost == sieve.capacity
            if !isKnown { sieve.insert(true, under: entry.key.prefix, cost: 1) }
            let kept = try cache.file.write { (connection) throws(SQLiteError) in
                if isKnown {
                    try CacheTable.visit([entry.key.prefix], on: connection)
                } else {
                    try Self.store(entry, evictingFirst: isFull, on: connection)
                }
                return try Self.prefixes(on: connection)
            }
            let left = entries.map(\.key.prefix).filter { sieve.value(under: $0) != nil }
            #expect(Set(left) == kept, "DIAMOND_SEED=\(Effort.seed)")
        }
    }

    private static func store(
        _ entry: CacheEntry,
        evictingFirst: Bool,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        var eviction = CacheTable.EvictionSlice()
        while evictingFirst, eviction.count == 0, !eviction.isExhausted {
            eviction = try CacheTable.evictUnvisited(excess: 1, on: connection)
        }
        _ = try CacheTable.store(CacheRecord(entry), on: connection)
    }

    private static func prefixes(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Set<Int64> {
        let rows = try connection.statement("SELECT key_prefix FROM entry")
        var prefixes: Set<Int64> = []
        while try rows.step() { prefixes.insert(rows.int64(0)) }
        return prefixes
    }
}

private struct PlainSieve {
    struct Item {
        var key: Int
        var cost: Int
        var isVisited = false
    }

    let capacity: Int
    var items: [Item] = []
    var hand = 0
    var cost: Int { items.reduce(0) { $0 + $1.cost } }

    init(capacity: Int) { self.capacity = capacity }

    mutating func use(_ key: Int) -> Bool {
        guard let index = items.firstIndex(where: { $0.key == key }) else { return false }
        items[index].isVisited = true
        return true
    }

    mutating func insert(_ key: Int, _ cost: Int) {
        remove(key)
        while self.cost + cost > capacity {
            if items[hand].isVisited {
                items[hand].isVisited = false
                hand += 1
            } else {
                items.remove(at: hand)
            }
            beginAnewBehindTheNewest()
        }
        items.append(Item(key: key, cost: cost))
    }

    mutating func remove(_ key: Int) {
        guard let index = items.firstIndex(where: { $0.key == key }) else { return }
        items.remove(at: index)
        if index < hand { hand -= 1 }
        beginAnewBehindTheNewest()
    }

    private mutating func beginAnewBehindTheNewest() {
        if hand >= items.count { hand = 0 }
    }
}
