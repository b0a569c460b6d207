/// The number of intervals of each kind that are going on at one moment.
public struct ActivityCounts: Hashable, Sendable {
    /// Connections that an engine runs, from when they are enqueued until they have finished, and calls that ask a
    /// server. Calls that the cache answers are not among them.
    public internal(set) var requests = 0
    /// Waits for a place on the wire.
    public internal(set) var queued = 0
    /// Exchanges on the wire. Several requests that share one count once.
    public internal(set) var inFlight = 0
    /// Exchanges between two attempts, with no place on the wire.
    public internal(set) var backingOff = 0
    /// Connections that are held by ``Connection/pause()``; ``requests`` has them, too.
    public internal(set) var paused = 0
    /// Refreshes behind stale answers. While they wait or are on the wire, the other counts have them, too.
    public internal(set) var refreshing = 0

    /// Whether nothing goes on by itself. Only paused connections may be left.
    public var isIdle: Bool {
        requests <= paused && queued == 0 && inFlight == 0 && backingOff == 0 && refreshing == 0
    }

    var isEmpty: Bool { self == ActivityCounts() }

    mutating func add(_ change: Int, to kind: ActivityInterval.Kind) {
        switch kind.name {
        case .request: requests += change
        case .queue: queued += change
        case .attempt: inFlight += change
        case .backoff: backingOff += change
        case .pause: paused += change
        case .refresh: refreshing += change
        }
    }

    static func += (counts: inout ActivityCounts, others: ActivityCounts) {
        counts.requests += others.requests
        counts.queued += others.queued
        counts.inFlight += others.inFlight
        counts.backingOff += others.backingOff
        counts.paused += others.paused
        counts.refreshing += others.refreshing
    }
}
