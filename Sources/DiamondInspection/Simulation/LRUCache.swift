/// A cache of values, bounded by their cost, that evicts the least recently used one (LRU). ``Simulation`` compares it
/// with SIEVE.
struct LRUCache<Key: Hashable, Value> {
    private struct Item {
        var value: Value
        var cost: Int
        /// The number of its last use.
        var use: Int
    }

    private let capacity: Int
    private var cost = 0
    private var items: [Key: Item] = [:]
    /// Every use so far. Eviction skips uses that are followed by another use of the same key.
    private var uses: [Key] = []
    /// The index of the first use that eviction has not examined.
    private var next = 0

    init(capacity: Int) { self.capacity = capacity }

    mutating func use(_ key: Key) -> Value? {
        guard let item = items[key] else { return nil }
        items[key]?.use = uses.endIndex
        uses.append(key)
        return item.value
    }

    /// Stores a value, replacing an older one, unless it costs more than the whole capacity.
    mutating func insert(_ value: Value, under key: Key, cost: Int) {
        if let old = items.removeValue(forKey: key) { self.cost -= old.cost }
        guard cost <= capacity else { return }
        while self.cost + cost > capacity { evictOne() }
        items[key] = Item(value: value, cost: cost, use: uses.endIndex)
        uses.append(key)
        self.cost += cost
    }

    private mutating func evictOne() {
        let key = uses[next]
        if let item = items[key], item.use == next {
            items[key] = nil
            cost -= item.cost
        }
        next += 1
    }
}
