import DiamondSQLite

/// A value that a task waits for, and may stop waiting for: told once, by the first of whoever has it and cancellation.
package final class Awaited<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var waiter: CheckedContinuation<Value, Never>?
    }

    private let state = Guarded(State())

    package init() {}

    /// Only the first counts.
    ///
    /// - Returns: whether this one does.
    @discardableResult
    package func tell(_ value: Value) -> Bool {
        let (isFirst, waiter) = state.withLock { state in
            guard state.value == nil else { return (false, nil as CheckedContinuation<Value, Never>?) }
            state.value = value
            defer { state.waiter = nil }
            return (true, state.waiter)
        }
        waiter?.resume(returning: value)
        return isFirst
    }

    /// Waited for once.
    ///
    /// - Parameter whenCanceled: called with the cancellation of the waiting task; what it returns is the value then.
    package func value(whenCanceled: @escaping @Sendable () -> Value) async -> Value {
        await withTaskCancellationHandler {
            await withCheckedContinuation(wait)
        } onCancel: {
            tell(whenCanceled())
        }
    }

    private func wait(_ waiter: CheckedContinuation<Value, Never>) {
        let known = state.withLock { state in
            if state.value == nil { state.waiter = waiter }
            return state.value
        }
        if let known { waiter.resume(returning: known) }
    }
}
