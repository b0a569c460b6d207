/// The lines of events that are not in the file yet.
struct EventBuffer {
    /// The time at which the lines are to be written.
    enum Schedule { case soon, now, asBefore }

    /// Whole lines, and their number.
    struct Lines {
        var bytes: [UInt8] = []
        var count = 0
    }

    /// The bytes that are written at once.
    static let batch = 64 << 10
    /// The maximum number of bytes that wait for a slow disk. Further lines are dropped.
    static let capacity = 1 << 20

    private var lines = Lines()
    private var dropped = 0

    /// Adds a line with its end.
    mutating func add(_ line: [UInt8]) -> Schedule {
        let before = lines.bytes.count
        guard before + line.count <= Self.capacity else {
            drop(1)
            return .asBefore
        }
        lines.bytes += line
        lines.count += 1
        if before < Self.batch, lines.bytes.count >= Self.batch { return .now }
        return before == 0 ? .soon : .asBefore
    }

    /// Notes lines that could not be written.
    mutating func drop(_ count: Int) { dropped += count }

    /// Removes all lines, with the number of those that were dropped before them.
    mutating func take() -> (lines: Lines, dropped: Int) {
        defer { self = EventBuffer() }
        return (lines, dropped)
    }
}
