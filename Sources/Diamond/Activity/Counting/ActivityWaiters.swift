import DiamondSQLite

/// The tasks that wait for a change of the counts, or for idleness.
struct ActivityWaiters {
    enum Condition {
        /// The version differs from this one.
        case change(since: Int)
        /// No work is waiting or under way, except paused connections.
        case idle

        func isSatisfied(version: Int, isIdle: Bool) -> Bool {
            switch self {
            case .change(let seen): version != seen
            case .idle: isIdle
            }
        }
    }

    /// A promise, fulfilled with `true` once the condition is satisfied, or with `false` once it can no longer be.
    typealias Waiter = Promise<Bool>

    private var waiting: [ObjectIdentifier: (condition: Condition, waiter: Waiter)] = [:]

    var isEmpty: Bool { waiting.isEmpty }

    mutating func add(_ waiter: Waiter, for condition: Condition) {
        waiting[waiter.id] = (condition, waiter)
    }

    mutating func remove(_ waiter: Waiter) { waiting[waiter.id] = nil }

    mutating func removeAll() -> [Waiter] {
        defer { waiting = [:] }
        return waiting.values.map(\.waiter)
    }

    /// Removes the waiters whose condition is satisfied, and returns them.
    mutating func removeSatisfied(version: Int, isIdle: Bool) -> [Waiter] {
        let satisfied = waiting.filter { $0.value.condition.isSatisfied(version: version, isIdle: isIdle) }
        for key in satisfied.keys { waiting[key] = nil }
        return satisfied.values.map(\.waiter)
    }
}

extension Guarded<ActivityState> {
    /// Waits for a condition.
    ///
    /// - Returns: `false` if the waiting task was canceled, or the activity was deallocated.
    func wait(for condition: ActivityWaiters.Condition) async -> Bool {
        let waiter = ActivityWaiters.Waiter()
        let known = withLock { $0.wait(waiter, for: condition) }
        if let known { return known && !Task.isCancelled }
        defer { withLock { $0.remove(waiter) } }
        return await waiter.value { false }
    }
}
