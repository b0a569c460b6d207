#if Tools
import Diamond
import DiamondInspection
import Foundation

/// A request in the timeline: its waits, its time on the wire, and its result.
struct TimelineExchange {
    /// A wait or an attempt. Times are in milliseconds since 1970.
    struct Part {
        enum Kind: String { case wait, wire }

        let kind: Kind
        let start: Double
        var end: Double?
    }

    /// The kind: `request`, `refresh` or `hit`.
    let kind: String
    let time: WallTime
    let method: String
    /// The URL with masked secrets; `•••` if the store is sealed.
    let url: String
    let lane: String
    let program: String
    var status: Int64?
    var source: String?
    var error: String?
    /// The duration; `nil` while the request is under way.
    var milliseconds: Double?
    var parts: [Part] = []

    init(_ event: RecordedEvent, kind: String) {
        self.kind = kind
        time = event.time
        method = event.method ?? ""
        url = event.url ?? "•••"
        lane = event.lane ?? ""
        program = event.program
        source = event.source
    }

    var start: Double { Double(time.rawValue) }

    /// The end, or that of the last part so far.
    var end: Double { milliseconds.map { start + $0 } ?? parts.map { $0.end ?? $0.start }.max() ?? start }

    /// The milliseconds of the parts of a kind.
    func sum(_ kind: Part.Kind) -> Double {
        parts.filter { $0.kind == kind }.reduce(0) { $0 + max(0, ($1.end ?? end) - $1.start) }
    }
}

/// The requests of recorded events, in the order of their begins.
struct TimelineReading {
    /// An interval of a process.
    private struct ID: Hashable {
        let process: Int64
        let number: Int64
    }

    /// A part of a request.
    private struct Place {
        let exchange: Int
        let part: Int
    }

    private var exchanges: [TimelineExchange] = []
    private var requests: [ID: Int] = [:]
    private var parts: [ID: Place] = [:]

    /// Reads events. Intervals whose begin is not among them are left out.
    init(_ events: [RecordedEvent]) { for event in events { read(event) } }

    /// The requests, the newest first. What a connection gets from the cache is recorded twice: as a request, too.
    var newestFirst: [TimelineExchange] {
        exchanges.filter { $0.kind == "hit" || !["cache", "stale"].contains($0.source) }.reversed()
    }

    private mutating func read(_ event: RecordedEvent) {
        switch event.kind {
        case .began: begin(event)
        case .ended: end(event)
        // A revalidated response is a request as well.
        case .hit where event.source != "revalidated": exchanges.append(TimelineExchange(event, kind: "hit"))
        default: break
        }
    }

    private mutating func begin(_ event: RecordedEvent) {
        guard let id = id(event.id, of: event), let interval = event.interval else { return }
        if ["request", "refresh"].contains(interval) {
            requests[id] = exchanges.count
            exchanges.append(TimelineExchange(event, kind: interval))
        } else if let place = self.id(event.parent, of: event).flatMap({ requests[$0] }),
            let part = TimelineExchange.Part(event)
        {
            parts[id] = Place(exchange: place, part: exchanges[place].parts.count)
            exchanges[place].parts.append(part)
        }
    }

    private mutating func end(_ event: RecordedEvent) {
        guard let id = id(event.id, of: event) else { return }
        if let place = requests[id] { exchanges[place].finish(with: event) }
        if let place = parts[id] { exchanges[place.exchange].parts[place.part].finish(with: event) }
    }

    private func id(_ number: Int64?, of event: RecordedEvent) -> ID? {
        number.map { ID(process: event.process, number: $0) }
    }
}

extension TimelineExchange {
    fileprivate mutating func finish(with event: RecordedEvent) {
        milliseconds = event.milliseconds
        status = event.status
        source = event.source
        error = event.error
    }
}

extension TimelineExchange.Part {
    fileprivate init?(_ event: RecordedEvent) {
        switch event.interval {
        case "attempt": kind = .wire
        case "queue", "backoff", "pause": kind = .wait
        default: return nil
        }
        start = Double(event.time.rawValue)
    }

    fileprivate mutating func finish(with event: RecordedEvent) { end = start + (event.milliseconds ?? 0) }
}

/// The latest events that the programs of a store have recorded.
actor EventFeed {
    private static let limit = 4000

    private var reader: EventFileReader
    private var events: [RecordedEvent] = []

    init(_ store: Store) { reader = EventFileReader(directory: store.directory, includesEarlier: true) }

    /// Whether a program has recorded events.
    var hasFile: Bool { reader.hasFile }

    func latest() -> [RecordedEvent] {
        events = (events + reader.read(last: Self.limit)).suffix(Self.limit)
        return events
    }
}
#endif
