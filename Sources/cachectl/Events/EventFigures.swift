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

extension EventFigures {
    /// The hosts with the most requests first.
    private var ranked: [(host: String, requests: Requests)] {
        hosts.sorted { ($1.value.count, $0.key) < ($0.value.count, $1.key) }.map { ($0.key, $0.value) }
    }

    /// The lines of the view.
    ///
    /// - Parameters:
    ///   - seconds: the time of the events.
    ///   - jobs: the number of jobs in each state; `nil` without a queue.
    ///   - width: the columns of the terminal; `nil` for no limit.
    ///   - height: the lines of the terminal; `nil` for no limit.
    func lines(seconds: Int, jobs: CountsForm?, width: Int? = nil, height: Int? = nil) -> [String] {
        let table = Table(
            [
                "HOST": .left, "REQUESTS": .right, "PER S": .right, "HITS": .right, "P50": .right, "P99": .right,
                "FAILED": .right, "IN FLIGHT": .right,
            ],
            rows: [all.cells(of: "all", seconds: seconds)]
                + ranked.map { $0.requests.cells(of: $0.host, seconds: seconds) })
        let head = [
            "last \(seconds) s, \(programs.count == 1 ? "1 program" : "\(programs.count) programs")"
                + (dropped > 0 ? ", \(dropped) events not recorded" : ""),
            "queue: \(jobs?.text ?? "none")", "",
        ].map { line in String(line.prefix(width ?? .max)) }
        let lines = head + table.lines(width: width)
        return Array(lines.prefix(height ?? .max))
    }

    func form(seconds: Int, jobs: CountsForm?) -> JSONObject {
        all.form(seconds: seconds).adding([
            "seconds": seconds, "programs": programs.sorted(), "dropped": dropped > 0 ? dropped : nil, "queue": jobs,
            "hosts": ranked.map { $0.requests.form(seconds: seconds).adding(["host": $0.host]) },
        ])
    }
}

extension EventFigures.Requests {
    private func perSecond(_ seconds: Int) -> Double { Double(count) / Double(max(1, seconds)) }

    fileprivate func cells(of host: String, seconds: Int) -> [String] {
        func percentile(_ percent: Int) -> String { latencies.percentile(percent).map(Quantity.time) ?? "-" }
        return [
            host, String(count), Quantity.tenths(perSecond(seconds)), hitRatio.map(Quantity.percent) ?? "-",
            percentile(50), percentile(99), String(failures), String(inFlight),
        ]
    }

    fileprivate func form(seconds: Int) -> JSONObject {
        func percentile(_ percent: Int) -> Double? { latencies.percentile(percent).map(Quantity.milliseconds) }
        return [
            "requests": count, "perSecond": perSecond(seconds), "hits": hits, "misses": misses, "hitRatio": hitRatio,
            "failed": failures, "inFlight": inFlight, "p50": percentile(50), "p99": percentile(99),
        ]
    }
}
#endif
