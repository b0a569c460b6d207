/// The time by which a queue's jobs wait and expire, in milliseconds since 1970. It continues while the wall clock is
/// set (``QueueClock``). All processes that use the queue have the same.
package struct QueueTime: ClockTime {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }

    /// Creates the time at which the wall clock is right. `QueueClock.Moment` converts any other.
    init(correct wall: WallTime) { rawValue = wall.rawValue }

    /// The time of a wall clock that is right.
    var correctWall: WallTime { WallTime(rawValue: rawValue) }
}
