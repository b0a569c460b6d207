/// The limit for refreshes of a credential: 5 times in 30 seconds. A server that answers 401 to every credential must
/// not keep an app signing in.
struct RefreshLimit: Hashable, Sendable {
    private let count: Int
    private let window: Duration
    /// The times of the last refreshes, as many as the limit allows, the oldest first. Milliseconds of a clock that
    /// only goes forward.
    private var times: [EngineTime] = []

    init(count: Int = 5, in window: Duration = .seconds(30)) {
        self.count = max(1, count)
        self.window = window
    }

    func allows(at now: EngineTime) -> Bool {
        guard times.count == count, let oldest = times.first else { return true }
        return now >= oldest + window
    }

    /// Counts a refresh if it is allowed.
    ///
    /// - Returns: whether it is allowed.
    mutating func beginIfAllowed(at now: EngineTime) -> Bool {
        guard allows(at: now) else { return false }
        if times.count == count { times.removeFirst() }
        times.append(now)
        return true
    }
}
