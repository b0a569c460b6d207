import DiamondSQLite

/// Wakes one who waits: a wake before the wait counts.
final class ReplaySignal: Sendable {
    private struct State {
        var isSet = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Guarded(State())

    func wake() {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard let waiter = state.waiter else {
                state.isSet = true
                return nil
            }
            state.waiter = nil
            return waiter
        }
        waiter?.resume()
    }

    /// Returns at a wake, after a time, or when the task is canceled.
    func wait(for limit: Duration, by clock: any Clock<Duration>) async {
        let timer = Task { if (try? await clock.sleep(for: limit)) != nil { wake() } }
        await wait()
        timer.cancel()
    }

    /// Returns at a wake, or when the task is canceled.
    func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.isSet || Task.isCancelled {
                        state.isSet = false
                        return true
                    }
                    state.waiter = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            wake()
        }
    }
}
