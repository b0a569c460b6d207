/// A position in the log of invalidations: the number of changes before it.
package struct LogPosition: Hashable, Comparable, Sendable {
    let count: Int

    /// The position before all changes.
    static let start = LogPosition(count: 0)

    package init(count: Int) { self.count = count }

    package static func < (left: LogPosition, right: LogPosition) -> Bool { left.count < right.count }
}
