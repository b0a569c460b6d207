import Diamond
import DiamondSQLite

/// A turn that one takes after the other, in the order in which they came.
final class Turns: Sendable {
    private struct State {
        var isTaken = false
        var waiting: [Promise<Bool>] = []
    }

    private let state = Guarded(State())

    /// Waits for the turn, which ``give()`` has to follow.
    ///
    /// - Throws: `CancellationError` where the task is canceled before.
    func take() async throws {
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

    /// Gives the turn to the next who still waits.
    func give() {
        let waiting = state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting
        }
        for (index, waiter) in waiting.enumerated() where waiter.fulfill(with: true) {
            let rest = waiting[(index + 1)...]
            return state.withLock { $0.waiting.insert(contentsOf: rest, at: 0) }
        }
        // Whoever came meanwhile waits for this one.
        let isFree = state.withLock { state in
            if state.waiting.isEmpty { state.isTaken = false }
            return !state.isTaken
        }
        if !isFree { give() }
    }
}
