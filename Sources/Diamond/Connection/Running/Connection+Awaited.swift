import DiamondSQLite
import Foundation

/// The start of connections because a task waits for their results.
extension Connection {
    /// Runs connections, and those that they depend on, except those that an engine or a queue has. Nothing else would
    /// start these, and the wait for the results would not end.
    ///
    /// No lock is held while the dependencies of other operations are read, because the app may override them.
    static func run(awaited connections: [Connection]) {
        // Retained until the end, so that no other operation gets an address in `known`.
        var reached: [Operation] = []
        var known: Set<ObjectIdentifier> = []
        for connection in connections where connection.mayWait {
            let first = reached.count
            var index = first
            if known.insert(ObjectIdentifier(connection)).inserted { reached.append(connection) }
            while index < reached.count {
                reached += reached[index].awaitedOperations.filter { known.insert(ObjectIdentifier($0)).inserted }
                index += 1
            }
            // Dependencies first, which is the order of a serial lane.
            for case let connection as Connection in reached[first...].reversed() where connection.isIdle {
                connection.runByOwnEngine()
            }
        }
    }

    /// Whether the outcome is wanted, and a task waits for it, in the connection or in a batch, or a callback gets it.
    var isAwaited: Bool {
        core.withLock { core in
            core.life.outcome == nil
                && (core.waiters.count > 0 || core.isInAwaitedBatch || core.callbacks.hasCallbacks)
        }
    }

    /// Runs the connection by its engine. Without one it fails with `noEngine`.
    func runByOwnEngine() {
        if let registry = core.withLock({ $0.registry }) { registry.start(self) } else { start() }
    }

    /// Whether neither an engine nor a queue has the connection, and its outcome is unknown.
    private var isIdle: Bool {
        core.withLock { !$0.isMember } && mayWait && !DependencyGraph.isQueued(self)
    }

    /// Whether the connection has neither started nor an outcome.
    fileprivate var mayWait: Bool { core.withLock { !$0.life.isExecuting && !$0.life.isSettled } }
}

extension Operation {
    /// The operations that this one still waits for.
    fileprivate var awaitedOperations: [Operation] {
        if let connection = self as? Connection, !connection.mayWait { return [] }
        return isFinished ? [] : dependencies
    }
}
