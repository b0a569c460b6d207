#if Metrics
import DiamondSQLite
import HTTPTypes
public import Metrics

/// An observer that counts and times an engine's events for swift-metrics. Needs the package's trait `Metrics`.
///
/// | metric | kind | dimensions |
/// |---|---|---|
/// | `http.client.request.duration` | timer of attempts | method, server, lane, status class and error (or empty) |
/// | `diamond.request.duration` | timer of connections, and of calls that contact a server, waits and retries included | the same |
/// | `diamond.permit.wait` | timer of waits for a permit | server, lane |
/// | `diamond.retries` | counter of attempts after the first, hedges included | server, lane |
/// | `diamond.codings.unknown` | counter of bodies with a content coding that is not removed | |
/// | `diamond.transfers.resumed` | counter of transfers that continued after the bytes received before | |
/// | `diamond.cache.hits` | counter | source |
/// | `diamond.cache.misses`, `.stores`, `.evictions`, `.failures` | counters | |
/// | `diamond.queue.transitions` | counter of the transitions of replay jobs | verb |
/// | `diamond.queue.failures` | counter of failures of the replay queue | |
/// | `diamond.replayers.missing` | counter of engines that found jobs that no process sends | |
/// | `diamond.redirects.malformed` | counter | |
///
/// No label contains a URL. The first 100 servers and the first 100 lanes have labels of their own. The others are
/// `other`.
public final class MetricsObserver: ActivityObserver {
    private struct State {
        var servers = BoundedLabels()
        var lanes = BoundedLabels()
    }

    private let state = Guarded(State())
    private let factory: any MetricsFactory

    /// Creates an observer.
    ///
    /// - Parameter factory: the factory; `nil` for the process's `MetricsSystem.factory`.
    public init(factory: (any MetricsFactory)? = nil) { self.factory = factory ?? MetricsSystem.factory }

    public func receive(_ event: ActivityEvent) {
        switch event {
        case .began(let interval): countRetry(interval)
        case .ended(let interval, let outcome): end(interval, outcome: outcome)
        case .unknownContentCoding: count("diamond.codings.unknown")
        case .transferResumed: count("diamond.transfers.resumed")
        case .hit(let source, _): count("diamond.cache.hits", dimensions: [("source", source.rawValue)])
        case .miss: count("diamond.cache.misses")
        case .stored: count("diamond.cache.stores")
        case .evicted(let entries): count("diamond.cache.evictions", by: entries)
        case .cacheEntryDropped, .cacheEntriesLocked, .cacheSetAside, .cacheFailed: count("diamond.cache.failures")
        case .job(let transition):
            count("diamond.queue.transitions", dimensions: [("verb", transition.verb.description)])
        case .queueFailed: count("diamond.queue.failures")
        case .replayerMissing: count("diamond.replayers.missing")
        case .malformedRedirect: count("diamond.redirects.malformed")
        }
    }

    private func countRetry(_ interval: ActivityInterval) {
        // Attempts are counted instead of the waits before them, because an immediate retry has no wait.
        if interval.kind == .attempt, interval.attempt ?? 1 > 1 {
            count("diamond.retries", dimensions: dimensions(of: interval))
        }
    }

    private func end(_ interval: ActivityInterval, outcome: ActivityOutcome) {
        guard let label = Self.timers[interval.kind] else { return }
        var dimensions = self.dimensions(of: interval)
        if interval.kind != .queue {
            dimensions += [("http.request.method", interval.knownMethod)] + outcome.dimensions
        }
        let timer = Timer(label: label, dimensions: dimensions, factory: factory)
        timer.recordNanoseconds((.now - interval.startedAt).nanoseconds)
    }

    private static let timers: [ActivityInterval.Kind: String] = [
        .attempt: "http.client.request.duration", .request: "diamond.request.duration",
        .queue: "diamond.permit.wait",
    ]

    private func dimensions(of interval: ActivityInterval) -> [(String, String)] {
        let server = interval.server.address
        return state.withLock { state in
            [
                ("server.address", state.servers.label(of: server)),
                ("diamond.lane", state.lanes.label(of: interval.lane.name)),
            ]
        }
    }

    private func count(_ label: String, dimensions: [(String, String)] = [], by count: Int = 1) {
        Counter(label: label, dimensions: dimensions, factory: factory).increment(by: count)
    }
}

/// A bounded set of label values. Each value costs memory in the metrics backend.
struct BoundedLabels {
    private var known: Set<String> = []

    static let limit = 100

    /// Returns the text, or `other` once there are ``limit`` values.
    mutating func label(of text: String) -> String {
        if known.count < Self.limit { known.insert(text) }
        return known.contains(text) ? text : "other"
    }
}

extension ActivityOutcome {
    /// The status class, such as `2xx` for 204, and the error. Both are always present: some backends end the process
    /// if the names of a metric's dimensions change.
    fileprivate var dimensions: [(String, String)] {
        [
            ("http.response.status_class", status.map { "\($0.code / 100)xx" } ?? ""), ("error.type", error ?? ""),
        ]
    }
}

extension Duration {
    fileprivate var nanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }
}
#endif
