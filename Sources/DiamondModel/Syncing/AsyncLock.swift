import Diamond
import DiamondSQLite

/// An asynchronous lock, granted in the order of the calls.
final class AsyncLock: Sendable {
    private struct State {
        var isTaken = false
        var waiting: [Promise<Bool>] = []
    }

    private let state = Guarded(State())

    /// Waits for the lock. Release it with ``release()``.
    ///
    /// - Throws: `CancellationError` if the task is canceled while it waits.
    func acquire() async throws {
        let waiter = state.withLock { state -> Promise<Bool>? in
            guard state.isTaken else {
                state.isTaken = true
                return nil
            }
            let waiter = Promise<Bool>()
            state.waiting.append(waiter)
            return waiter
        }
        guard let waiter else { return }
        guard await waiter.value(whenCanceled: { false }) else { throw CancellationError() }
    }

    /// Passes the lock to the next waiting task.
    func release() {
        let waiting = state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting
        }
        for (index, waiter) in waiting.enumerated() where waiter.fulfill(with: true) {
            let rest = waiting[(index + 1)...]
            return state.withLock { $0.waiting.insert(contentsOf: rest, at: 0) }
        }
        // Tasks that arrived meanwhile wait for this release.
        let isFree = state.withLock { state in
            if state.waiting.isEmpty { state.isTaken = false }
            return !state.isTaken
        }
        if !isFree { release() }
    }
}
