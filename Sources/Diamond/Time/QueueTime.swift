/// The time by which a queue's jobs wait and expire, in milliseconds since 1970. It continues while the wall clock is
/// set. All processes that use the queue have the same (``ReplayStorage/moment()``).
public struct QueueTime: ClockTime, Comparable, CustomStringConvertible, Hashable, Sendable {
    /// The milliseconds since 1970.
    public let rawValue: Int64

    /// Creates the time a number of milliseconds after 1970.
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// Creates the time at which the wall clock is right. `ReplayMoment` converts any other.
    init(correct wall: WallTime) { rawValue = wall.rawValue }

    /// The time of a wall clock that is right.
    var correctWall: WallTime { WallTime(rawValue: rawValue) }

    public static func < (left: QueueTime, right: QueueTime) -> Bool { left.rawValue < right.rawValue }

    /// The milliseconds since 1970, as text.
    public var description: String { String(rawValue) }
}
