/// The events that are not in the file yet.
struct EventBuffer {
    /// The time at which the events are to be written.
    enum Schedule { case soon, now, asBefore }

    /// An event with the times at which it was received.
    struct Received {
        let event: ActivityEvent
        let time: WallTime
        let instant: ContinuousClock.Instant
    }

    /// The number of events that are written at once.
    static let batch = 256
    /// The maximum number of events that wait for a slow disk. Further ones are dropped.
    static let capacity = 8192

    private var events: [Received] = []
    private var dropped = 0

    mutating func add(_ event: Received) -> Schedule {
        guard events.count < Self.capacity else {
            drop(1)
            return .asBefore
        }
        events.append(event)
        return events.count == Self.batch ? .now : events.count == 1 ? .soon : .asBefore
    }

    /// Notes events that could not be written.
    mutating func drop(_ count: Int) { dropped += count }

    /// Removes all events, with the number of those that were dropped before them.
    mutating func take() -> (events: [Received], dropped: Int) {
        defer { self = EventBuffer() }
        return (events, dropped)
    }
}
