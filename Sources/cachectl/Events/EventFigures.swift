#if Tools
import Diamond

/// The figures of events: in all, and by host.
struct EventFigures {
    /// The figures of all requests, or of those to a host.
    struct Requests {
        var count = 0
        var hits = 0
        var misses = 0
        /// The number of requests that ended with an error, or with a status from 500 on.
        var failures = 0
        /// The number of attempts on the wire.
        var inFlight = 0
        /// The durations of the requests that contacted a server.
        var durations: [Duration] = []

        /// The part of the lookups that the cache answered, also with the server's confirmation; `nil` without lookups.
        var hitRatio: Double? { hits + misses > 0 ? Double(hits) / Double(hits + misses) : nil }
    }

    let seconds: Int
    private(set) var all = Requests()
    private(set) var hosts: [String: Requests] = [:]
    /// The number of events that programs could not record.
    private(set) var dropped: Int64 = 0
    private(set) var programs: Set<String> = []

    /// - Parameter attempts: the begins of the attempts on the wire.
    init(_ events: [RecordedEvent], onWire attempts: [RecordedEvent], seconds: Int) {
        self.seconds = seconds
        for event in events { add(event) }
        for attempt in attempts { change(attempt) { $0.inFlight += 1 } }
    }

    private mutating func add(_ event: RecordedEvent) {
        programs.insert("\(event.program)[\(event.process)]")
        switch event.kind {
        case .hit:
            change(event) {
                $0.count += 1; $0.hits += 1
            }
        case .miss: change(event) { $0.misses += 1 }
        case .ended where event.interval == "request": change(event) { $0.add(endOfRequest: event) }
        case .dropped: dropped = dropped.addingSaturating(event.count ?? 0)
        default: break
        }
    }

    private mutating func change(_ event: RecordedEvent, by body: (inout Requests) -> Void) {
        body(&all)
        if let host = event.url.flatMap(URLHost.of) { body(&hosts[String(host), default: Requests()]) }
    }
}

extension EventFigures.Requests {
    /// The sources of responses that an event `hit` has counted.
    private static let hitSources: Set = ["cache", "stale", "revalidated"]

    /// Adds a request, unless it was canceled.
    fileprivate mutating func add(endOfRequest event: RecordedEvent) {
        guard event.status != nil || event.error != nil else { return }
        if !Self.hitSources.contains(event.source ?? "") { count += 1 }
        if event.error != nil || event.status ?? 0 >= 500 { failures += 1 }
        if event.source != "cache", let milliseconds = event.milliseconds {
            durations.append(.milliseconds(bounding: milliseconds))
        }
    }
}
#endif
