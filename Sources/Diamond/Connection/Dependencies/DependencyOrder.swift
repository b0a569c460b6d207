/// A topological order of the connections, in which each one follows its dependencies. It is updated with each added
/// edge.
///
/// An edge that agrees with the order costs one comparison. So does each edge of a chain that is built from either end.
/// Any other edge moves only its dependent if nothing waits for that. Otherwise it moves the nodes between its two
/// ends, and finds a cycle if it closes one (Pearce and Kelly, "A Dynamic Topological Sort Algorithm for Directed
/// Acyclic Graphs", 2006).
struct DependencyOrder {
    private var lowest = 0
    private var highest = 0
    private var releaseLater: [AnyObject] = []

    /// Moves a connection after one that it depends on.
    ///
    /// - Returns: the cycle that prevents it, from the dependent through the target to the dependent; `nil` if there is
    ///   none.
    mutating func move(_ dependent: DependencyNode, after target: DependencyNode) -> [DependencyNode]? {
        guard dependent !== target else { return [dependent, dependent] }
        let place = target.order ?? (dependent.order == nil ? next() : before())
        target.order = place
        let own = dependent.order ?? next()
        dependent.order = own
        guard own < place else { return nil }
        // If no other node waits for the dependent, only the dependent has to move.
        guard !dependent.waiters(releaseLater: &releaseLater).isEmpty else {
            dependent.order = next()
            return nil
        }
        // Two groups of nodes are affected: those that the target waits for, as far as they follow the dependent, and
        // those that wait for the dependent, as far as they precede the target.
        let awaited = Search(
            from: target, over: { $0.awaited(releaseLater: &$1) }, in: { $0 >= own }, releaseLater: &releaseLater)
        if let path = awaited.path(to: dependent) { return [dependent] + path }
        let waiting = Search(
            from: dependent, over: { $0.waiters(releaseLater: &$1) }, in: { $0 <= place }, releaseLater: &releaseLater)
        Self.rearrange(awaited.reached, before: waiting.reached)
        return nil
    }

    /// Returns the visited nodes. The caller releases them after the lock is released, because they may have no other
    /// reference.
    mutating func takeReleaseLater() -> [AnyObject] {
        guard !releaseLater.isEmpty else { return [] }
        defer { releaseLater = [] }
        return releaseLater
    }

    private mutating func next() -> Int {
        highest += 1
        return highest
    }

    private mutating func before() -> Int {
        lowest -= 1
        return lowest
    }

    /// Reassigns the positions of both groups: the first group gets the lower ones.
    private static func rearrange(_ first: [DependencyNode], before second: [DependencyNode]) {
        let nodes = [first, second].flatMap { $0.sorted { ($0.order ?? 0) < ($1.order ?? 0) } }
        let places = nodes.compactMap(\.order).sorted()
        for (node, place) in zip(nodes, places) { node.order = place }
    }
}

/// The nodes that can be reached from a node through nodes whose positions satisfy a predicate.
private struct Search {
    private(set) var reached: [DependencyNode]
    private var origins: [ObjectIdentifier: DependencyNode] = [:]

    /// - Parameter releaseLater: collects objects that may have no other reference, to be released while no lock is
    ///   held.
    init(
        from start: DependencyNode,
        over neighbors: (DependencyNode, inout [AnyObject]) -> [DependencyNode],
        in isMeant: (Int) -> Bool,
        releaseLater: inout [AnyObject]
    ) {
        reached = [start]
        var open = [start]
        while let node = open.popLast() {
            for next in neighbors(node, &releaseLater)
            where next !== start && origins[ObjectIdentifier(next)] == nil {
                guard let place = next.order, isMeant(place) else { continue }
                origins[ObjectIdentifier(next)] = node
                reached.append(next)
                open.append(next)
            }
        }
    }

    /// Returns the nodes from the start to an end; `nil` if the end was not reached.
    func path(to end: DependencyNode) -> [DependencyNode]? {
        guard origins[ObjectIdentifier(end)] != nil else { return nil }
        var path = [end]
        while let last = path.last, let origin = origins[ObjectIdentifier(last)] { path.append(origin) }
        return path.reversed()
    }
}
