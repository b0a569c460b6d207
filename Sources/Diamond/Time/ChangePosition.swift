package import DiamondSQLite

/// A position in the log of the changes that the processes of a store announce (``CacheChanges/position``). Positions
/// grow, and those of two stores cannot be compared.
public struct ChangePosition: RawRepresentable, Comparable, Hashable, Sendable {
    /// The number of the position in the store's own log, or one that the storage derives from it.
    public let rawValue: Int64

    /// Creates the position with a number.
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// The position before all changes.
    public static let start = ChangePosition(rawValue: 0)

    public static func < (left: ChangePosition, right: ChangePosition) -> Bool { left.rawValue < right.rawValue }
}

extension SQL.StringInterpolation {
    package mutating func appendInterpolation(_ position: ChangePosition) { appendInterpolation(position.rawValue) }
}
