extension DependencyGraph {
    /// Whether one of some connections waits for this one, on its own or through others.
    static func isAwaited(_ connection: Connection, by isMeant: (Connection) -> Bool) -> Bool {
        var known: Set<ObjectIdentifier> = []
        var open = dependents(of: connection)
        while let next = open.popLast() {
            guard known.insert(ObjectIdentifier(next)).inserted else { continue }
            if isMeant(next) { return true }
            open += dependents(of: next)
        }
        return false
    }

    /// A cycle that an edge would close: from the dependent along the dependencies of the target to the dependent.
    static func cycle(from dependent: Connection, to target: Connection) -> [Connection]? {
        guard dependent !== target else { return [dependent, dependent] }
        // Chains are mostly built from one end to the other: then there is nothing to look for.
        guard !target.node.dependencies.isEmpty, dependent.node.hasDependents else { return nil }
        var origins: [ObjectIdentifier: Connection] = [:]
        var open = [target]
        while let connection = open.popLast() {
            for edge in connection.node.dependencies where !edge.isOver {
                guard let next = edge.connection, origins[ObjectIdentifier(next)] == nil else { continue }
                origins[ObjectIdentifier(next)] = connection
                guard next !== dependent else { return way(to: dependent, from: target, origins) }
                open.append(next)
            }
        }
        return nil
    }

    private static func way(
        to dependent: Connection,
        from target: Connection,
        _ origins: [ObjectIdentifier: Connection]
    ) -> [Connection] {
        var way = [dependent]
        while let last = way.last, last !== target, let origin = origins[ObjectIdentifier(last)] { way.append(origin) }
        return [dependent] + way.reversed()
    }
}
