import DiamondSQLite

/// The positions of the changes that this process has recorded in the store. The others are of other processes.
final class OwnChanges: Sendable {
    /// The store keeps as many changes.
    private static let limit = 1000

    /// The changes after a position, up to another. Either may be the largest integer in a damaged file.
    private struct Changes {
        let last: ChangePosition
        let newest: ChangePosition
    }

    /// The changes of this process, in ascending order.
    private let changes = Guarded<[Changes]>([])

    /// Adds the changes after a position, up to the newest.
    func add(after last: ChangePosition, upTo newest: ChangePosition) {
        guard newest > last else { return }
        changes.withLock { changes in
            // The positions begin again in a new file.
            if let known = changes.last, known.newest > last { changes = [] }
            changes.append(Changes(last: last, newest: newest))
            if changes.count > Self.limit { changes.removeFirst(Self.limit / 2) }
        }
    }

    func contain(_ position: ChangePosition) -> Bool {
        changes.withLock { changes in changes.reversed().contains { $0.last < position && position <= $0.newest } }
    }
}
