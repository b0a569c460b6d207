import DiamondSQLite

/// A value that one task waits for, and that is decided once: by the first to fulfill the promise.
///
/// The wait takes the value out. A promise that is kept for longer than its value keeps nothing of it.
package final class Promise<Value: Sendable>: Sendable {
    // Unsafe: the state below resumes it once. It carries no value, because ThreadSanitizer cannot see what a continuation
    // hands over on Linux.
    private typealias Waiter = UnsafeContinuation<Void, Never>

    private enum State {
        case pending(Waiter?)
        case fulfilled(Value)
        case taken

        var isPending: Bool { if case .pending = self { true } else { false } }
    }

    private let state = Guarded(State.pending(nil))

    package init() {}

    /// Hands a value to the waiting task, or to the one that will wait. Only the first value counts.
    ///
    /// - Returns: whether this is the first.
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

    /// Whether the value is decided, also where it was taken out since.
    var isFulfilled: Bool { state.withLock { !$0.isPending } }

    /// Runs a body unless the value is decided. It is not decided while the body runs.
    ///
    /// - Parameter body: called under the lock.
    /// - Returns: whether the body was run.
    func ifPending(_ body: () -> Void) -> Bool {
        state.withLock { state in
            guard state.isPending else { return false }
            body()
            return true
        }
    }

    /// Waits for the value, also where the task is canceled. May be called once.
    package func value() async -> Value {
        await withUnsafeContinuation { (waiter: Waiter) in
            let isPending = state.withLock { state in
                if state.isPending { state = .pending(waiter) }
                return state.isPending
            }
            if !isPending { waiter.resume() }
        }
        return state.withLock { state in
            guard case .fulfilled(let value) = state else { preconditionFailure("a promise is waited for once") }
            state = .taken
            return value
        }
    }

    /// Waits for the value until the task is canceled. May be called once.
    ///
    /// - Parameter whenCanceled: called when the task is canceled; returns the value for that case. Only the first value
    ///   counts, as always.
    package func value(whenCanceled: @escaping @Sendable () -> Value) async -> Value {
        await withTaskCancellationHandler {
            await value()
        } onCancel: {
            fulfill(with: whenCanceled())
        }
    }
}
