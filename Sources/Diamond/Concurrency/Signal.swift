import DiamondSQLite

/// A signal that wakes a waiting task. A wake while no task waits ends the next wait at once. Several such wakes count
/// as one.
///
/// Only one task may wait at a time.
final class Signal: Sendable {
    private struct State {
        var isSet = false
        var waiter: UnsafeContinuation<Void, Never>?
    }

    private let state = Guarded(State())

    func wake() {
        let waiter = state.withLock { state in
            defer { state.waiter = nil }
            if state.waiter == nil { state.isSet = true }
            return state.waiter
        }
        waiter?.resume()
    }

    /// Waits for a wake, or for the task's cancellation.
    func wait() async {
        await withTaskCancellationHandler {
            await withUnsafeContinuation(register)
        } onCancel: {
            wake()
        }
    }

    /// Waits for a wake, for the end of the time, or for the task's cancellation.
    ///
    /// - Parameter limit: the limit for the time; `nil` for none.
    func wait(within limit: TimeLimit?) async {
        let timer = limit?.start { [self] in wake() }
        await wait()
        timer?.cancel()
    }

    private func register(_ waiter: UnsafeContinuation<Void, Never>) {
        let isSet = state.withLock { state in
            defer { state.isSet = false }
            if !state.isSet { state.waiter = waiter }
            return state.isSet
        }
        if isSet { waiter.resume() }
    }
}
