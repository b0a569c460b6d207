/// An order of the connections in which each stands behind all that it waits for, maintained while edges come and go.
///
/// An edge that keeps to it costs a comparison, and so do chains that are built from one end to the other, and lines that
/// grow at their end. Another moves those that stand between its two ends, and meets itself where it closes a cycle (Pearce
/// and Kelly, "A Dynamic Topological Sort Algorithm for Directed Acyclic Graphs", 2006).
struct DependencyOrder {
    private var lowest = 0
    private var highest = 0
    private var met: [AnyObject] = []

    /// Puts a connection behind one that it is to wait for.
    ///
    /// - Returns: the cycle that prevents it, from the dependent along the target to the dependent; `nil` where there
    ///   is none.
    mutating func put(_ dependent: DependencyNode, behind target: DependencyNode) -> [DependencyNode]? {
        guard dependent !== target else { return [dependent, dependent] }
        let place = target.order ?? (dependent.order == nil ? next() : before())
        target.order = place
        let own = dependent.order ?? next()
        dependent.order = own
        guard own < place else { return nil }
        // Nobody stands behind it who would have to move along.
        guard !dependent.waiters(&met).isEmpty else {
            dependent.order = next()
            return nil
        }
        // What the target waits for and does not stand before the dependent, and what waits for the dependent and does not
        // stand behind the target: all others stand right.
        let awaited = Search(from: target, over: { $0.awaited(&$1) }, in: { $0 >= own }, &met)
        if let way = awaited.way(to: dependent) { return [dependent] + way }
        let waiting = Search(from: dependent, over: { $0.waiters(&$1) }, in: { $0 <= place }, &met)
        Self.rearrange(awaited.reached, before: waiting.reached)
        return nil
    }

    /// Returns the nodes that were looked at, for the caller to free without the lock: they may have no other
    /// reference.
    mutating func takeMet() -> [AnyObject] {
        guard !met.isEmpty else { return [] }
        defer { met = [] }
        return met
    }

    private mutating func next() -> Int {
        highest += 1
        return highest
    }

    private mutating func before() -> Int {
        lowest -= 1
        return lowest
    }

    /// Shares out the places of both groups among them, the first group before the second.
    private static func rearrange(_ first: [DependencyNode], before second: [DependencyNode]) {
        let nodes = [first, second].flatMap { $0.sorted { ($0.order ?? 0) < ($1.order ?? 0) } }
        let places = nodes.compactMap(\.order).sorted()
        for (node, place) in zip(nodes, places) { node.order = place }
    }
}

/// The nodes that can be reached from a node through others whose places satisfy a predicate.
private struct Search {
    private(set) var reached: [DependencyNode]
    private var origins: [ObjectIdentifier: DependencyNode] = [:]

    /// - Parameter met: collects objects that may have no other reference; free them where no lock is held.
    init(
        from start: DependencyNode,
        over neighbors: (DependencyNode, inout [AnyObject]) -> [DependencyNode],
        in isMeant: (Int) -> Bool,
        _ met: inout [AnyObject]
    ) {
        reached = [start]
        var open = [start]
        while let node = open.popLast() {
            for next in neighbors(node, &met) where next !== start && origins[ObjectIdentifier(next)] == nil {
                guard let place = next.order, isMeant(place) else { continue }
                origins[ObjectIdentifier(next)] = node
                reached.append(next)
                open.append(next)
            }
        }
    }

    /// Returns the nodes from the start to an end; `nil` where the end was not reached.
    func way(to end: DependencyNode) -> [DependencyNode]? {
        guard origins[ObjectIdentifier(end)] != nil else { return nil }
        var way = [end]
        while let last = way.last, let origin = origins[ObjectIdentifier(last)] { way.append(origin) }
        return way.reversed()
    }
}
