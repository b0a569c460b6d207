#if Tools
import Diamond

/// The figures of events: in all, and by host. Their size depends on the number of hosts, not of events.
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
        /// The durations of the requests that a server answered, or whose exchange with it failed.
        var latencies = LatencyCounts()

        /// The part of the lookups that the cache answered, also with the server's confirmation; `nil` without lookups.
        var hitRatio: Double? { hits + misses > 0 ? Double(hits) / Double(hits + misses) : nil }
    }

    private(set) var all = Requests()
    private(set) var hosts: [String: Requests] = [:]
    /// The number of events that programs could not record.
    private(set) var dropped: Int64 = 0
    private(set) var programs: Set<String> = []

    mutating func add(_ event: RecordedEvent) {
        programs.insert("\(event.program)[\(event.process)]")
        switch event.kind {
        case .hit:
            change(event.host) {
                $0.count += 1; $0.hits += 1
            }
        case .miss: change(event.host) { $0.misses += 1 }
        case .ended where event.interval == "request": change(event.host) { $0.add(endOfRequest: event) }
        case .dropped: dropped = dropped.addingSaturating(event.count ?? 0)
        default: break
        }
    }

    /// Adds an attempt on the wire.
    mutating func addAttempt(to host: String?) { change(host) { $0.inFlight += 1 } }

    /// Adds the figures of other events.
    mutating func add(_ other: EventFigures) {
        all.add(other.all)
        for (host, requests) in other.hosts { hosts[host, default: Requests()].add(requests) }
        dropped = dropped.addingSaturating(other.dropped)
        programs.formUnion(other.programs)
    }

    private mutating func change(_ host: String?, by body: (inout Requests) -> Void) {
        body(&all)
        if let host { body(&hosts[host, default: Requests()]) }
    }
}

extension RecordedEvent {
    /// The host of the URL; `nil` without a URL.
    var host: String? { url.flatMap(URLHost.of).map { String($0) } }
}

extension EventFigures.Requests {
    /// The sources of responses that an event `hit` has counted.
    private static let hitSources: Set = ["cache", "stale", "revalidated"]
    /// The sources of responses that a server has sent or confirmed.
    private static let serverSources: Set = ["network", "revalidated"]
    /// The errors of an exchange with a server.
    private static let serverErrors = Set(
        [
            ConnectionError.Code.timedOut, .cannotConnect, .tlsFailed, .connectionLost, .badResponse, .badStatus,
            .badContentType, .undecodable, .bodyTooLarge,
        ].map(\.description))

    /// Adds a request, unless it was canceled.
    fileprivate mutating func add(endOfRequest event: RecordedEvent) {
        guard event.status != nil || event.error != nil else { return }
        if !Self.hitSources.contains(event.source ?? "") { count += 1 }
        if event.error != nil || event.status ?? 0 >= 500 { failures += 1 }
        if Self.isOfServer(event), let milliseconds = event.milliseconds {
            latencies.add(.milliseconds(bounding: milliseconds))
        }
    }

    private static func isOfServer(_ event: RecordedEvent) -> Bool {
        event.error.map(serverErrors.contains) ?? serverSources.contains(event.source ?? "")
    }

    fileprivate mutating func add(_ other: Self) {
        count += other.count
        hits += other.hits
        misses += other.misses
        failures += other.failures
        inFlight += other.inFlight
        latencies.add(other.latencies)
    }
}
#endif
