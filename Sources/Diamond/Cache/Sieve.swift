/// A cache of values, bounded by their cost, with the eviction algorithm SIEVE.
///
/// A hand moves from the oldest to the newest value, and evicts the first that was not used since it last passed. A
/// used value is spared once. A hit moves nothing: it sets one bit. (Zhang and others, "SIEVE is Simpler than LRU",
/// NSDI 2024.)
package struct Sieve<Key: Hashable, Value> {
    private struct Node {
        var key: Key
        var value: Value
        var cost: Int
        var isVisited = false
        /// The index in `nodes` of the next older node.
        var older: Int?
        var newer: Int?

        mutating func use() -> (value: Value, isFirst: Bool) {
            defer { isVisited = true }
            return (value, !isVisited)
        }

        mutating func isGone(_ test: (inout Value) -> Bool) -> Bool { test(&value) }
    }

    private var nodes: [Node?] = []
    private var free: [Int] = []
    private var places: [Key: Int] = [:]
    private var oldest: Int?
    private var newest: Int?
    private var hand: Int?
    /// The total cost of all values.
    package private(set) var cost = 0
    /// The maximum total cost. Lowering it evicts immediately.
    package var capacity: Int { didSet { evict(for: 0) } }

    package init(capacity: Int) { self.capacity = capacity }

    package var count: Int { places.count }

    /// Returns the value under a key, and counts a use.
    ///
    /// - Returns: the value, and whether this is the first use since the hand passed it.
    package mutating func use(_ key: Key) -> (value: Value, isFirst: Bool)? {
        places[key].flatMap { nodes[$0]?.use() }
    }

    /// Returns the value under a key, without counting a use.
    func value(under key: Key) -> Value? { places[key].flatMap { nodes[$0]?.value } }

    /// Stores a value, replacing an older one, unless it costs more than the whole capacity.
    package mutating func insert(_ value: Value, under key: Key, cost: Int) {
        remove(key)
        guard cost <= capacity else { return }
        // Evict first, so that the new value is never the one evicted.
        evict(for: cost)
        append(Node(key: key, value: value, cost: cost, older: newest))
    }

    package mutating func remove(_ key: Key) {
        if let place = places[key] { remove(at: place) }
    }

    /// Removes the values that a predicate matches.
    ///
    /// - Parameter isGone: the predicate, which may change a value that stays.
    mutating func removeAll(where isGone: (inout Value) -> Bool) {
        for place in nodes.indices where nodes[place]?.isGone(isGone) == true { remove(at: place) }
    }

    package mutating func removeAll() { self = Sieve(capacity: capacity) }

    private mutating func append(_ node: Node) {
        let place = free.popLast() ?? nodes.endIndex
        if place == nodes.endIndex { nodes.append(node) } else { nodes[place] = node }
        if let newest { nodes[newest]?.newer = place } else { oldest = place }
        newest = place
        places[node.key] = place
        cost += node.cost
    }

    private mutating func remove(at place: Int) {
        guard let node = nodes[place] else { return }
        if let older = node.older { nodes[older]?.newer = node.newer } else { oldest = node.newer }
        if let newer = node.newer { nodes[newer]?.older = node.older } else { newest = node.older }
        if hand == place { hand = node.newer }
        nodes[place] = nil
        free.append(place)
        places[node.key] = nil
        cost -= node.cost
    }

    private mutating func evict(for newcomer: Int) {
        while cost + newcomer > capacity, var place = hand ?? oldest {
            while nodes[place]?.isVisited == true {
                nodes[place]?.isVisited = false
                place = nodes[place]?.newer ?? oldest ?? place
            }
            hand = nodes[place]?.newer
            remove(at: place)
        }
    }
}
