#if Tools
import Diamond
import Foundation

/// The figures of the last seconds, and the attempts that are on the wire. It keeps no events.
struct EventWindow {
    /// The identity of an interval among all processes.
    private struct IntervalID: Hashable {
        var process: Int64
        var id: Int64
    }

    /// The number of parts of the window, which are removed one by one.
    static let slotCount: Int64 = 500

    /// The length of the window in seconds.
    let seconds: Int
    /// The figures of each part of the window, by its time in units of ``slotLength``.
    private(set) var slots: [Int64: EventFigures] = [:]
    /// The hosts of the attempts on the wire.
    private var attempts: [IntervalID: String?] = [:]

    init(seconds: Int) { self.seconds = seconds }

    /// The length of a slot in milliseconds.
    private var slotLength: Int64 { max(1, Int64(seconds) * 1000 / Self.slotCount) }

    /// Adds events, and removes the figures of those that are too old.
    mutating func add(_ events: [RecordedEvent], at now: WallTime) {
        let newest = now.rawValue / slotLength
        let oldest = newest - Self.slotCount
        for event in events {
            track(event)
            // The clock may have been set back since the event.
            let slot = min(event.time.rawValue / slotLength, newest)
            if slot >= oldest { slots[slot, default: EventFigures()].add(event) }
        }
        slots = slots.filter { $0.key >= oldest }
    }

    private mutating func track(_ event: RecordedEvent) {
        // The ends of its attempts may be among the events that it could not record.
        if event.kind == .dropped { attempts = attempts.filter { $0.key.process != event.process } }
        guard event.interval == "attempt", let id = event.id else { return }
        let attempt = IntervalID(process: event.process, id: id)
        if event.kind == .began { attempts[attempt] = .some(event.host) } else { attempts[attempt] = nil }
    }

    /// Returns the figures of the window.
    ///
    /// - Parameter isRunning: whether a process exists. One that was killed leaves attempts that never end.
    mutating func figures(isRunning: (Int64) -> Bool = Self.isRunning) -> EventFigures {
        attempts = attempts.filter { isRunning($0.key.process) }
        var figures = slots.values.reduce(into: EventFigures()) { $0.add($1) }
        for host in attempts.values { figures.addAttempt(to: host) }
        return figures
    }

    private static func isRunning(_ process: Int64) -> Bool {
        guard let number = pid_t(exactly: process), number > 0 else { return false }
        return kill(number, 0) == 0 || errno == EPERM
    }
}
#endif
