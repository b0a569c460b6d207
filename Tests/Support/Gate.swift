import DiamondSQLite

/// A gate that is closed until it is opened: tests wait at it instead of sleeping.
package final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Guarded(State())

    package init() {}

    package func open() {
        let waiters = state.withLock { state in
            state.isOpen = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    package func close() { state.withLock { $0.isOpen = false } }

    package var isOpen: Bool { state.withLock { $0.isOpen } }

    /// Returns when the gate is open; cancellation does not open it.
    package func wait() async {
        await withCheckedContinuation { waiter in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiters.append(waiter) }
                return state.isOpen
            }
            if isOpen { waiter.resume() }
        }
    }
}
