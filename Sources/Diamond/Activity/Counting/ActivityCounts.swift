/// The number of open intervals of each kind at one moment.
public struct ActivityCounts: Hashable, Sendable {
    /// Connections that an engine runs, from when they are started until they have finished, and calls that contact
    /// a server. Calls that the cache answers do not count.
    public internal(set) var requests = 0
    /// Waits for a permit.
    public internal(set) var queued = 0
    /// Exchanges on the wire. An exchange that several requests share counts once. Requests that wait, or that the
    /// cache answers, do not count.
    public internal(set) var inFlight = 0
    /// Exchanges that wait between two attempts, without a permit.
    public internal(set) var backingOff = 0
    /// Connections that ``Connection/pause()`` holds. They count among ``requests`` as well.
    public internal(set) var paused = 0
    /// Refreshes of responses that were returned stale. While they wait or are on the wire, the other counts include
    /// them.
    public internal(set) var refreshing = 0

    /// Whether no work is waiting or under way, except paused connections.
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

/// All counts of the activity, taken at one moment.
public struct ActivitySnapshot: Hashable, Sendable {
    /// The counts in all.
    public let counts: ActivityCounts
    /// The counts by lane. Lanes without open intervals have no entry.
    public let lanes: [Lane: ActivityCounts]
    /// The counts by origin: scheme, host and port.
    public let origins: [String: ActivityCounts]
    /// The counts by tag. An interval with several tags counts for each, one without tags for none.
    public let tags: [String: ActivityCounts]
}
