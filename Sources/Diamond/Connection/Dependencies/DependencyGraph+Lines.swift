import DiamondSQLite

/// The lines of serial lanes.
extension DependencyGraph {
    /// Adds a connection to the end of a serial line. It waits for its turn until ``leaveLine(_:releaseLater:)``.
    ///
    /// - Parameter releaseLater: collects objects that may have no other reference, to be released while no lock is
    ///   held.
    /// - Returns: `false`, without an effect, if it would wait for itself.
    static func enterLine(_ connection: Connection, behind last: Connection, releaseLater: inout [AnyObject]) -> Bool {
        core.withLock { core in
            let node = connection.node
            let end = last.node
            let isBehind = core.order.move(node, after: end) == nil
            if isBehind {
                node.predecessor = end
                end.successor = node
                _ = node.follow(end, releaseLater: &releaseLater)
            }
            releaseLater += core.order.takeReleaseLater()
            return isBehind
        }
    }

    /// Removes a connection from its line, and links the nodes before and behind it.
    ///
    /// - Parameter releaseLater: collects objects that may have no other reference, to be released while no lock is
    ///   held.
    static func leaveLine(_ connection: Connection, releaseLater: inout [AnyObject]) {
        core.withLock { _ in
            guard let node = connection.knownNode else { return }
            let predecessor = node.predecessor
            let successor = node.successor
            releaseLater += [predecessor, successor].compactMap(\.self) as [AnyObject]
            predecessor?.successor = successor
            successor?.predecessor = predecessor
            node.predecessor = nil
            node.successor = nil
        }
    }
}
