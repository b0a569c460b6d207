import DiamondSQLite

/// The keys of the requests whose last response could not be shared. Their next exchanges are not shared, so that no
/// caller waits in vain. The newest thousand are remembered.
final class UnsharedKeys: Sendable {
    private struct State {
        var keys: Set<RequestKey> = []
        var order = FIFOSet<RequestKey>()

        mutating func remove(_ key: RequestKey) {
            if !keys.isEmpty, keys.remove(key) != nil { order.remove(key) }
        }
    }

    private static let limit = 1000

    private let state = Guarded(State())

    var count: Int { state.withLock { $0.keys.count } }

    func contains(_ key: RequestKey) -> Bool { state.withLock { !$0.keys.isEmpty && $0.keys.contains(key) } }

    func insert(_ key: RequestKey) {
        state.withLock { state in
            guard state.keys.insert(key).inserted else { return }
            state.order.append(key)
            if state.keys.count > Self.limit, let oldest = state.order.first { state.remove(oldest) }
        }
    }

    /// Notes whether the response to a request could be shared.
    func note(_ isShared: Bool, of plan: ExchangePlan) {
        guard plan.isShareable, let key = plan.context.identity?.key else { return }
        if isShared { remove(key) } else { insert(key) }
    }

    func remove(_ key: RequestKey) { state.withLock { $0.remove(key) } }
}
