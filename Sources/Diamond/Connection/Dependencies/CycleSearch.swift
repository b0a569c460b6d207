import Foundation

/// A search for what waits for a connection, among operations of every kind: ``DependencyOrder`` knows connections alone.
///
/// The search is iterative, because a chain can be longer than a stack is deep. No lock is held while an operation that
/// is no connection is asked: what it overrides is the app's.
struct CycleSearch {
    /// The operations reached so far, each with the index of the operation from which it was reached.
    private var reached: [(operation: Operation, origin: Int?)] = []
    private var known: Set<ObjectIdentifier> = []

    private init() {}

    /// Returns the cycle from a connection through some operations that it waits for back to itself, by name; `nil`
    /// where there is none.
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
    /// The operations that it waits for and that wait for something, too, or may do so.
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
