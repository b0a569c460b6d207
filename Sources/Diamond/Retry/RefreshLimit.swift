/// The limit for refreshes of a credential: 5 times in 30 seconds. A server that answers 401 to every credential must
/// not keep an app signing in.
struct RefreshLimit: Hashable, Sendable {
    private let count: Int
    private let stretch: Duration
    /// Milliseconds of a clock that only goes forward; as many as may be, the oldest first.
    private var times: [Int64] = []

    init(count: Int = 5, in stretch: Duration = .seconds(30)) {
        self.count = max(1, count)
        self.stretch = stretch
    }

    func allows(at now: Int64) -> Bool {
        guard times.count == count, let oldest = times.first else { return true }
        return now - oldest >= stretch.milliseconds
    }

    /// Counts one.
    ///
    /// - Returns: whether it is allowed; what is not is not counted.
    mutating func begin(at now: Int64) -> Bool {
        guard allows(at: now) else { return false }
        if times.count == count { times.removeFirst() }
        times.append(now)
        return true
    }
}
