#if Tools
import Diamond
import Foundation

/// The events of the last seconds, and the attempts that are on the wire.
struct EventWindow {
    /// The identity of an interval among all processes.
    private struct IntervalID: Hashable {
        var process: Int64
        var id: Int64
    }

    /// The length of the window in seconds.
    let seconds: Int
    private var events: [RecordedEvent] = []
    private var attempts: [IntervalID: RecordedEvent] = [:]

    init(seconds: Int) { self.seconds = seconds }

    /// Adds events, and removes those that are too old.
    mutating func add(_ new: [RecordedEvent], at now: WallTime) {
        for event in new where event.interval == "attempt" { track(event) }
        events += new
        let start = now - Int64(seconds) * 1000
        events.removeAll { $0.time < start }
    }

    private mutating func track(_ event: RecordedEvent) {
        guard let id = event.id else { return }
        attempts[IntervalID(process: event.process, id: id)] = event.kind == .began ? event : nil
    }

    /// Returns the figures of the window.
    ///
    /// - Parameter isRunning: whether a process exists. One that was killed leaves attempts that never end.
    func figures(isRunning: (Int64) -> Bool = Self.isRunning) -> EventFigures {
        EventFigures(events, onWire: attempts.values.filter { isRunning($0.process) }, seconds: seconds)
    }

    private static func isRunning(_ process: Int64) -> Bool {
        guard let number = pid_t(exactly: process), number > 0 else { return false }
        return kill(number, 0) == 0 || errno == EPERM
    }
}
#endif
