import DiamondSQLite

/// A value that one task awaits, and that is set once, by the first to fulfill the promise.
///
/// The wait consumes the value, so that a promise never extends its lifetime.
///
/// Copies are the same promise.
package struct Promise<Value: Sendable>: Identifiable, Sendable {
    // Unsafe, because the state ensures that it is resumed once. It carries no value, because ThreadSanitizer on Linux
    // does not see the handover through a continuation.
    private typealias Waiter = UnsafeContinuation<Void, Never>

    private enum State {
        case pending(Waiter?)
        case fulfilled(Value)
        case consumed

        var isPending: Bool { if case .pending = self { true } else { false } }
    }

    private let state = Guarded(State.pending(nil))

    package init() {}

    package var id: ObjectIdentifier { state.id }

    /// Sets the value and resumes the waiting task, if any. Only the first value counts.
    ///
    /// - Returns: Whether this is the first value.
    @discardableResult
    package func fulfill(with value: Value) -> Bool {
        let (isFirst, waiter) = state.withLock { state -> (Bool, Waiter?) in
            guard case .pending(let waiter) = state else { return (false, nil) }
            state = .fulfilled(value)
            return (true, waiter)
        }
        waiter?.resume()
        return isFirst
    }

    /// Whether the value was set, even if it was consumed since.
    var isFulfilled: Bool { state.withLock { !$0.isPending } }

    /// Runs a closure unless the value is set. The value cannot be set while the closure runs.
    ///
    /// - Parameter body: the closure, called under the lock.
    /// - Returns: Whether the closure was run.
    func ifPending(_ body: () -> Void) -> Bool {
        state.withLock { state in
            guard state.isPending else { return false }
            body()
            return true
        }
    }

    /// Waits for the value, even if the task is canceled. It may be called once.
    package func value() async -> Value {
        await withUnsafeContinuation(register)
        return consume()
    }

    private func register(_ waiter: Waiter) {
        let isPending = state.withLock { state in
            if state.isPending { state = .pending(waiter) }
            return state.isPending
        }
        if !isPending { waiter.resume() }
    }

    private func consume() -> Value {
        state.withLock { state in
            guard case .fulfilled(let value) = state else { preconditionFailure("a promise can be awaited only once") }
            state = .consumed
            return value
        }
    }

    /// Waits for the value until the task is canceled. It may be called once.
    ///
    /// - Parameter whenCanceled: called when the task is canceled; returns the value for that case. Only the first
    ///   value counts, as always.
    package func value(whenCanceled: @escaping @Sendable () -> Value) async -> Value {
        await withTaskCancellationHandler {
            await withUnsafeContinuation(register)
        } onCancel: {
            fulfill(with: whenCanceled())
        }
        return consume()
    }

    /// Waits for the value until the task is canceled, or the time is up. It may be called once.
    ///
    /// - Parameters:
    ///   - limit: the limit for the time; `nil` for none.
    ///   - withdraw: called with the reason when the wait has to end. It makes sure that the promise is fulfilled.
    func value(
        within limit: TimeLimit?,
        withdraw: @escaping @Sendable (WaitEnd) -> Void
    ) async -> Value {
        let timer = limit?.start { withdraw(.late) }
        defer { timer?.cancel() }
        await withTaskCancellationHandler {
            await withUnsafeContinuation(register)
        } onCancel: {
            withdraw(.canceled)
        }
        return consume()
    }
}
