public import Foundation

/// The current time by a queue's clock, and its difference from the wall clock. It converts the times of one clock to
/// the other.
public struct ReplayMoment: Hashable, Sendable {
    /// The queue's time.
    public let time: QueueTime
    /// The lead of this machine's wall clock over the queue's time, in milliseconds; 0 while the wall clock counts as
    /// right.
    public let lead: Int64

    /// Creates a moment from both values.
    public init(time: QueueTime, lead: Int64) {
        self.time = time
        self.lead = lead
    }

    /// Converts a date to the queue's time.
    public func time(of date: Date) -> QueueTime { time(ofWall: WallTime(date)) }

    /// Converts a time to a date.
    public func date(of time: QueueTime) -> Date { wall(of: time).date }

    func time(ofWall wall: WallTime) -> QueueTime { QueueTime(correct: wall - lead) }

    func wall(of time: QueueTime) -> WallTime { time.correctWall + lead }
}
