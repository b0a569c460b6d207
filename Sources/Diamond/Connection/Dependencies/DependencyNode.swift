/// A connection's place among the others: what it waits for, and what waits for it.
///
/// `@unchecked Sendable`: touched under the lock of ``DependencyGraph`` alone.
final class DependencyNode: @unchecked Sendable {
    private struct Dependent { weak var edge: Dependency? }

    var dependencies: [Dependency] = []
    /// How many of them have not ended.
    var unfinished = 0
    /// What Foundation waits for, while there are such.
    var gate: DependencyGate?
    /// Its place in the ``DependencyOrder``, once it has an edge.
    var order: Int?
    /// Whether whoever waits for the connection need wait no longer.
    var isOver = false
    /// The connection itself while it waits to be started: whoever enqueued it need not keep it.
    var waiting: Connection?
    /// Who stands before and behind it in a line.
    weak var predecessor: Connection?
    weak var follower: Connection?
    private var dependents: [Dependent] = []
    private var compaction = 16

    /// An edge is its dependent's: it goes with it.
    func add(_ edge: Dependency) {
        if dependents.count >= compaction {
            dependents.removeAll { $0.edge?.isOver != false }
            compaction = max(16, 2 * dependents.count)
        }
        dependents.append(Dependent(edge: edge))
    }

    /// Whom the connection waits for.
    var awaited: [Connection] {
        dependencies.compactMap { $0.isOver ? nil : $0.connection } + (predecessor.map { [$0] } ?? [])
    }

    /// Who waits for it.
    var waiters: [Connection] {
        dependents.compactMap { $0.edge?.isOver == false ? $0.edge?.dependent : nil } + (follower.map { [$0] } ?? [])
    }

    func takeDependents() -> [Dependency] {
        defer { dependents = [] }
        return dependents.compactMap(\.edge)
    }

    /// Takes one dependency off. What is to be done where it was the last: Foundation is told, and the connection
    /// started if it waits for that.
    func finishOne() -> (gate: DependencyGate?, waiting: Connection?) {
        unfinished -= 1
        guard unfinished == 0 else { return (nil, nil) }
        defer { (gate, waiting) = (nil, nil) }
        return (gate, waiting)
    }
}
