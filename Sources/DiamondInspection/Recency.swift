/// Values under keys, bounded by what they cost, of which the longest unused goes first (LRU): what SIEVE is compared
/// with.
struct Recency<Key: Hashable, Value> {
    private struct Item {
        var value: Value
        var cost: Int
        /// The number of its last use.
        var use: Int
    }

    private let capacity: Int
    private var cost = 0
    private var items: [Key: Item] = [:]
    /// Every use so far; those that were followed by another of the same key are passed over.
    private var uses: [Key] = []
    /// The first use that eviction has not come by.
    private var next = 0

    init(capacity: Int) { self.capacity = capacity }

    mutating func use(_ key: Key) -> Value? {
        guard let item = items[key] else { return nil }
        items[key]?.use = uses.endIndex
        uses.append(key)
        return item.value
    }

    /// Keeps a value in the place of an older one, unless it costs more than the whole capacity.
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
