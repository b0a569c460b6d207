import DiamondSQLite

/// Tasks that wait for the counts to change, or for nothing to be counted any more.
struct ActivityWaiters {
    enum Wish {
        /// For another version than this.
        case change(since: Int)
        case idle

        func isMet(_ version: Int, isIdle: Bool) -> Bool {
            switch self {
            case .change(let seen): version != seen
            case .idle: isIdle
            }
        }
    }

    /// Fulfilled with whether the wish is met; `false` where it will not be.
    typealias Waiter = Promise<Bool>

    private var waiting: [ObjectIdentifier: (wish: Wish, waiter: Waiter)] = [:]

    var isEmpty: Bool { waiting.isEmpty }

    mutating func add(_ waiter: Waiter, for wish: Wish) { waiting[ObjectIdentifier(waiter)] = (wish, waiter) }

    mutating func remove(_ waiter: Waiter) { waiting[ObjectIdentifier(waiter)] = nil }

    mutating func takeAll() -> [Waiter] {
        defer { waiting = [:] }
        return waiting.values.map(\.waiter)
    }

    mutating func take(_ version: Int, isIdle: Bool) -> [Waiter] {
        let met = waiting.filter { $0.value.wish.isMet(version, isIdle: isIdle) }
        for key in met.keys { waiting[key] = nil }
        return met.values.map(\.waiter)
    }
}

extension Guarded<ActivityState> {
    /// - Returns: `false` when the waiting task was canceled, or nothing will change any more.
    func wait(for wish: ActivityWaiters.Wish) async -> Bool {
        let waiter = ActivityWaiters.Waiter()
        let known = withLock { $0.wait(waiter, for: wish) }
        if let known { return known && !Task.isCancelled }
        defer { withLock { $0.remove(waiter) } }
        return await waiter.value { false }
    }
}
