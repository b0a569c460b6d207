import DiamondSQLite

/// Tasks that wait for what goes on to change, or to end.
struct ActivityWaiters {
    /// Told whether what it waits for has come; `false` where it waits in vain.
    typealias Waiter = CheckedContinuation<Bool, Never>

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

    private var waiting: [Int: (wish: Wish, waiter: Waiter)] = [:]
    /// Canceled before they waited.
    private var canceled: Set<Int> = []

    var isEmpty: Bool { waiting.isEmpty }

    mutating func add(_ number: Int, _ wish: Wish, _ waiter: Waiter) { waiting[number] = (wish, waiter) }

    mutating func forgetCancel(of number: Int) -> Bool { canceled.remove(number) != nil }

    mutating func cancel(_ number: Int) -> Waiter? {
        if waiting[number] == nil { canceled.insert(number) }
        return waiting.removeValue(forKey: number)?.waiter
    }

    mutating func takeAll() -> [Waiter] {
        defer { waiting = [:] }
        return waiting.values.map(\.waiter)
    }

    mutating func take(_ version: Int, isIdle: Bool) -> [Waiter] {
        let met = waiting.filter { $0.value.wish.isMet(version, isIdle: isIdle) }
        for number in met.keys { waiting[number] = nil }
        return met.values.map(\.waiter)
    }
}

extension Guarded<ActivityState> {
    /// - Returns: `false` when the waiting task was canceled, or nothing will change any more.
    func wait(for wish: ActivityWaiters.Wish) async -> Bool {
        let number = withLock { $0.waiter() }
        // Canceled when it had been told, it is noted as one that has not waited yet.
        defer { withLock { $0.endWait(number) } }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let known = withLock { $0.wait(number, for: wish, waiter) }
                if let known { waiter.resume(returning: known) }
            }
        } onCancel: {
            withLock { $0.cancel(number) }?.resume(returning: false)
        }
    }
}
