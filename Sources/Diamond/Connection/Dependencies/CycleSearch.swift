import Foundation

/// A search for a dependency cycle among operations of every kind. ``DependencyOrder`` knows only connections.
///
/// The search is iterative, because a long chain would overflow the stack. No lock is held while the properties of a
/// plain operation are read, because the app may override them.
struct CycleSearch {
    /// The operations reached so far, each with the index of the operation from which it was reached.
    private var reached: [(operation: Operation, origin: Int?)] = []
    private var known: Set<ObjectIdentifier> = []

    private init() {}

    /// Returns the names along a cycle from a connection, through some operations that it waits for, back to itself;
    /// `nil` if there is none.
    static func cycle(of connection: Connection, over suspects: [Operation]) -> [String]? {
        guard !suspects.isEmpty else { return nil }
        var search = CycleSearch()
        return search.path(to: connection, over: suspects).map { path in ([connection] + path).map(\.nameInCycle) }
    }

    private mutating func path(to end: Connection, over suspects: [Operation]) -> [Operation]? {
        add(suspects, from: nil)
        var index = 0
        while index < reached.count {
            let operation = reached[index].operation
            guard operation !== end else { return path(to: index) }
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

    private func path(to end: Int) -> [Operation] {
        sequence(first: end) { reached[$0].origin }.map { reached[$0].operation }.reversed()
    }
}

extension Operation {
    /// The operations that this one waits for and that may wait for others themselves.
    fileprivate var awaited: [Operation] {
        if let connection = self as? Connection { return DependencyGraph.waiting(inFrontOf: connection) }
        let dependencies = dependencies
        // Read after the dependencies: an operation that has begun meanwhile waits for none of them. A queue runs a
        // canceled operation at once.
        return isExecuting || isFinished || isCancelled ? [] : DependencyGraph.waiting(among: dependencies)
    }

    fileprivate var nameInCycle: String {
        if let connection = self as? Connection { return connection.request.description }
        return name.flatMap { $0.isEmpty ? nil : $0 } ?? "\(type(of: self))"
    }
}
