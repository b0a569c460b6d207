import DiamondSQLite

/// The origins that have answered since the last early retry of their waiting jobs. Such retries happen at most once in
/// 5 seconds.
final class OriginAnswers: Sendable {
    private struct State {
        var origins: Set<String> = []
        var notBefore = Uptime(rawValue: 0)
    }

    /// The minimum time between two searches of the waiting jobs, in milliseconds. Most answers concern no waiting job.
    private static let pause: Int64 = 5_000
    /// The maximum number of origins. Any other origin is noted at a later answer.
    private static let limit = 1_000

    private let state = Guarded(State())

    /// Notes that an origin has answered.
    ///
    /// - Returns: whether the origin is the first since the last ``take(at:)``.
    func note(_ origin: String) -> Bool {
        state.withLock { state in
            let isFirst = state.origins.isEmpty
            if state.origins.count < Self.limit { state.origins.insert(origin) }
            return isFirst
        }
    }

    /// Returns the origins, and removes them; `nil` for none, or before the minimum time has passed.
    func take(at uptime: Uptime) -> Set<String>? {
        state.withLock { state in
            guard !state.origins.isEmpty, state.notBefore <= uptime else { return nil }
            defer { state = State(notBefore: uptime + Self.pause) }
            return state.origins
        }
    }

    /// Returns the time until the next ``take(at:)`` returns origins, in milliseconds; `nil` if none has answered.
    func delay(at uptime: Uptime) -> Int64? {
        state.withLock { $0.origins.isEmpty ? nil : max(0, $0.notBefore.milliseconds(since: uptime)) }
    }
}
