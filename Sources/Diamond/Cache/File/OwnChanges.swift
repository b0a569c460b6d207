import DiamondSQLite

/// The numbers of the changes that this process has recorded in the store. The others are of other processes.
final class OwnChanges: Sendable {
    /// The store keeps as many changes.
    private static let limit = 1000

    /// The ranges in ascending order.
    private let ranges = Guarded<[Range<Int64>]>([])

    func add(_ numbers: Range<Int64>) {
        guard !numbers.isEmpty else { return }
        ranges.withLock { ranges in
            // The numbers begin again in a new file.
            if let last = ranges.last, last.upperBound > numbers.lowerBound { ranges = [] }
            ranges.append(numbers)
            if ranges.count > Self.limit { ranges.removeFirst(Self.limit / 2) }
        }
    }

    func contain(_ number: Int64) -> Bool {
        ranges.withLock { ranges in ranges.reversed().contains { $0.contains(number) } }
    }
}
