/// An order of the connections in which each stands behind all that it waits for, kept while edges come and go.
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
    /// - Returns: what keeps it from that: the cycle from the dependent along the target to the dependent.
    mutating func put(_ dependent: Connection, behind target: Connection) -> [Connection]? {
        guard dependent !== target else { return [dependent, dependent] }
        let place = target.node.order ?? (dependent.node.order == nil ? next() : before())
        target.node.order = place
        let own = dependent.node.order ?? next()
        dependent.node.order = own
        guard own < place else { return nil }
        let dependents = dependent.node.waiters(&met)
        met += dependents as [AnyObject]
        // Nobody stands behind it who would have to move along.
        guard !dependents.isEmpty else {
            dependent.node.order = next()
            return nil
        }
        // What the target waits for and does not stand before the dependent, and what waits for the dependent and does not
        // stand behind the target: all others stand right.
        let awaited = Search(from: target, over: { node, _ in node.awaited }, in: { $0 >= own })
        met += awaited.met
        if let way = awaited.way(to: dependent) { return [dependent] + way }
        let waiting = Search(from: dependent, over: { $0.waiters(&$1) }, in: { $0 <= place })
        met += waiting.met
        Self.rearrange(awaited.reached, before: waiting.reached)
        return nil
    }

    /// What has been looked at, for whoever holds the lock to free without it: nobody else may have it any more.
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

    /// Gives both the places that they have together.
    private static func rearrange(_ first: [Connection], before second: [Connection]) {
        let connections = [first, second].flatMap { $0.sorted { ($0.node.order ?? 0) < ($1.node.order ?? 0) } }
        let places = connections.compactMap(\.node.order).sorted()
        for (connection, place) in zip(connections, places) { connection.node.order = place }
    }
}

/// What can be reached from a connection over others in some places.
private struct Search {
    private(set) var reached: [Connection]
    private(set) var met: [AnyObject] = []
    private var origins: [ObjectIdentifier: Connection] = [:]

    init(
        from start: Connection,
        over neighbors: (DependencyNode, inout [AnyObject]) -> [Connection],
        in isMeant: (Int) -> Bool
    ) {
        reached = [start]
        var open = [start]
        while let connection = open.popLast() {
            let found = neighbors(connection.node, &met)
            met += found as [AnyObject]
            for next in found where next !== start && origins[ObjectIdentifier(next)] == nil {
                guard let place = next.node.order, isMeant(place) else { continue }
                origins[ObjectIdentifier(next)] = connection
                reached.append(next)
                open.append(next)
            }
        }
    }

    /// From the start, where it was reached.
    func way(to end: Connection) -> [Connection]? {
        guard origins[ObjectIdentifier(end)] != nil else { return nil }
        var way = [end]
        while let last = way.last, let origin = origins[ObjectIdentifier(last)] { way.append(origin) }
        return way.reversed()
    }
}
