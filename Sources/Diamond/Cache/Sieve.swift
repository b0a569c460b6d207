/// Values under keys, bounded by what they cost, evicted by SIEVE.
///
/// A hand walks from the oldest to the newest, spares once what was used since it last came by, and takes the first that
/// was not. A hit moves nothing: it sets one bit. (Zhang and others, "SIEVE is Simpler than LRU", NSDI 2024.)
package struct Sieve<Key: Hashable, Value> {
    private struct Node {
        var key: Key
        var value: Value
        var cost: Int
        var isVisited = false
        /// Places in `nodes`.
        var older: Int?
        var newer: Int?

        mutating func isGone(_ test: (inout Value) -> Bool) -> Bool { test(&value) }
    }

    private var nodes: [Node?] = []
    private var free: [Int] = []
    private var places: [Key: Int] = [:]
    private var oldest: Int?
    private var newest: Int?
    private var hand: Int?
    /// The cost of all values together.
    package private(set) var cost = 0
    /// Setting it evicts what is too much.
    package var capacity: Int { didSet { evict(for: 0) } }

    package init(capacity: Int) { self.capacity = capacity }

    package var count: Int { places.count }

    /// The value under a key, which counts as used.
    ///
    /// - Returns: the value, and whether this is the first use since the hand came by.
    package mutating func use(_ key: Key) -> (value: Value, isFirst: Bool)? {
        guard let place = places[key], let value = nodes[place]?.value else { return nil }
        guard nodes[place]?.isVisited == false else { return (value, false) }
        nodes[place]?.isVisited = true
        return (value, true)
    }

    /// The value under a key, which does not count as used.
    func value(under key: Key) -> Value? { places[key].flatMap { nodes[$0]?.value } }

    /// Keeps a value in the place of an older one, unless it costs more than the whole capacity.
    package mutating func insert(_ value: Value, under key: Key, cost: Int) {
        remove(key)
        guard cost <= capacity else { return }
        // Before it comes in: the newest is never the one to go.
        evict(for: cost)
        append(Node(key: key, value: value, cost: cost, older: newest))
    }

    package mutating func remove(_ key: Key) {
        if let place = places[key] { remove(at: place) }
    }

    /// - Parameter isGone: may note something in a value that stays.
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
