import DiamondSQLite

/// The numbers of the changes that this process has recorded in the store. The others are of other processes.
final class OwnChanges: Sendable {
    /// The store keeps as many changes.
    private static let limit = 1000

    /// The changes after a number, up to another. Either may be the largest integer in a damaged file.
    private struct Changes {
        let last: Int64
        let newest: Int64
    }

    /// The changes of this process, in ascending order.
    private let changes = Guarded<[Changes]>([])

    /// Adds the changes after a number, up to the newest.
    func add(after last: Int64, upTo newest: Int64) {
        guard newest > last else { return }
        changes.withLock { changes in
            // The numbers begin again in a new file.
            if let known = changes.last, known.newest > last { changes = [] }
            changes.append(Changes(last: last, newest: newest))
            if changes.count > Self.limit { changes.removeFirst(Self.limit / 2) }
        }
    }

    func contain(_ number: Int64) -> Bool {
        changes.withLock { changes in changes.reversed().contains { $0.last < number && number <= $0.newest } }
    }
}
