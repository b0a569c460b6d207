import Foundation

/// A search for what waits for a connection, among operations of every kind: ``DependencyOrder`` knows connections alone.
///
/// One after another, because a chain of them can be longer than a stack is deep; and no lock is held while an operation is
/// asked that is no connection: what it overrides is the app's.
struct CycleSearch {
    /// What has been reached, and the index of what it was reached from.
    private var reached: [(operation: Operation, origin: Int?)] = []
    private var known: Set<ObjectIdentifier> = []

    private init() {}

    /// The cycle from a connection over some that it waits for to itself, by name; `nil` where there is none.
    static func cycle(of connection: Connection, over suspects: [Operation]) -> [String]? {
        guard !suspects.isEmpty else { return nil }
        var search = CycleSearch()
        return search.way(to: connection, over: suspects).map { way in ([connection] + way).map(\.nameInCycle) }
    }

    private mutating func way(to end: Connection, over suspects: [Operation]) -> [Operation]? {
        add(suspects, from: nil)
        var index = 0
        while index < reached.count {
            let operation = reached[index].operation
            guard operation !== end else { return way(to: index) }
            add(operation.awaited, from: index)
            index += 1
        }
        return nil
    }

    private mutating func add(_ operations: [Operation], from origin: Int?) {
        for operation in operations where known.insert(ObjectIdentifier(operation)).inserted {
            reached.append((operation, origin))
        }
    }

    private func way(to end: Int) -> [Operation] {
        sequence(first: end) { reached[$0].origin }.map { reached[$0].operation }.reversed()
    }
}

extension Operation {
    /// What it waits for that waits for something, too, or may.
    fileprivate var awaited: [Operation] {
        if let connection = self as? Connection { return DependencyGraph.waiting(inFrontOf: connection) }
        let dependencies = dependencies
        // Asked afterwards: one that has begun meanwhile waits for none of them. A queue runs a canceled one at once.
        return isExecuting || isFinished || isCancelled ? [] : DependencyGraph.waiting(among: dependencies)
    }

    fileprivate var nameInCycle: String {
        if let connection = self as? Connection { return connection.request.description }
        return name.flatMap { $0.isEmpty ? nil : $0 } ?? "\(type(of: self))"
    }
}
