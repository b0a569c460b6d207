import DiamondSQLite

/// An asynchronous lock, granted in the order of the calls.
package final class AsyncLock: Sendable {
    private struct State {
        var isTaken = false
        var waiting: [Promise<Bool>] = []
    }

    private let state = Guarded(State())

    package init() {}

    /// Waits for the lock. Release it with ``release()``.
    ///
    /// - Throws: `CancellationError` if the task is canceled while it waits.
    package func acquire() async throws {
        guard let waiter = takeOrWait() else { return }
        guard await waiter.value(whenCanceled: { false }) else { throw CancellationError() }
    }

    /// Runs a body with the lock. Waits for it even if the task is canceled.
    func run<Value, Failure: Error>(
        _ body: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        if let waiter = takeOrWait() { _ = await waiter.value() }
        defer { release() }
        return try await body()
    }

    /// Takes the lock if it is free.
    ///
    /// - Returns: otherwise the waiter that gets it.
    private func takeOrWait() -> Promise<Bool>? {
        state.withLock { state in
            guard state.isTaken else {
                state.isTaken = true
                return nil
            }
            let waiter = Promise<Bool>()
            state.waiting.append(waiter)
            return waiter
        }
    }

    /// Passes the lock to the next waiting task.
    package func release() {
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
