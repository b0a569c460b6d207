import Diamond
import DiamondSQLite

/// A running load that several callers await, each with its own cancellation.
final class LoadFlight: Sendable {
    enum Outcome: Sendable {
        case loaded(any Sendable)
        case failed(any Error)
        /// The load or the waiting task was canceled.
        case canceled
        /// Another load has replaced it.
        case superseded(by: LoadFlight)
    }

    private struct State {
        var outcome: Outcome?
        /// Whether the outcome was applied and can no longer change.
        var isFinal = false
        var waiters: [ObjectIdentifier: Promise<Outcome>] = [:]
        /// The number of callers of a replaced load that have not started to wait for this one yet.
        var expected = 0
        var task: Task<Void, Never>?
        /// The error that applying the data has thrown.
        var failure: (any Error)?
    }

    let load: Load
    /// The load's time in the ``SyncOrder``.
    let time: Int
    private let state = Guarded(State())

    init(_ load: Load, time: Int, work: @escaping @concurrent @Sendable () async throws -> any Sendable) {
        self.load = load
        self.time = time
        let task = Task { @concurrent [weak self] in
            do {
                let payload = try await work()
                self?.end(.loaded(payload))
            } catch {
                self?.end(.failed(error))
            }
        }
        state.withLock { $0.task = task }
    }

    deinit { state.withLock { $0.task }?.cancel() }

    /// Waits for the outcome. Canceling the last waiting caller cancels the load.
    ///
    /// - Parameter wasExpected: Whether the caller has waited for a load that this one has replaced.
    func outcome(wasExpected: Bool = false) async -> Outcome {
        let waiter = Promise<Outcome>()
        let known = state.withLock { state in
            if wasExpected { state.expected -= 1 }
            if state.outcome == nil { state.waiters[ObjectIdentifier(waiter)] = waiter }
            return state.outcome
        }
        if let known { return known }
        let received = await waiter.value { .canceled }
        if case .canceled = received {
            leave(waiter)
            return .canceled
        }
        // The received outcome may have been withdrawn since.
        return state.withLock { state in
            state.waiters[ObjectIdentifier(waiter)] = nil
            return state.outcome ?? received
        }
    }

    /// Removes a canceled caller. Without callers, cancels the load, even if its data has arrived and was not applied yet.
    private func leave(_ waiter: Promise<Outcome>) {
        drop { $0.waiters[ObjectIdentifier(waiter)] = nil }
    }

    private func drop(_ caller: (inout State) -> Void) {
        let (isAbandoned, next) = state.withLock { state -> (Bool, LoadFlight?) in
            caller(&state)
            if case .superseded(let next)? = state.outcome { return (false, next) }
            return (state.waiters.isEmpty && state.expected == 0 && !state.isFinal, nil)
        }
        // The load that has replaced this one expects the caller.
        next?.drop { $0.expected -= 1 }
        if isAbandoned { end(.canceled) }
    }

    /// Ends the load. A cancellation or another load replaces an outcome that was not applied yet.
    func end(_ outcome: Outcome) {
        let (waiters, task) = state.withLock { state -> ([Promise<Outcome>], Task<Void, Never>?) in
            let isWithdrawal = outcome.isWithdrawal && !state.isFinal && state.outcome?.isWithdrawal == false
            guard state.outcome == nil || isWithdrawal else { return ([], nil) }
            state.outcome = outcome
            if case .superseded(let next) = outcome { next.expect(state.waiters.count + state.expected) }
            return (Array(state.waiters.values), state.task)
        }
        for waiter in waiters { waiter.fulfill(with: outcome) }
        task?.cancel()
    }

    private func expect(_ count: Int) { state.withLock { $0.expected += count } }

    /// Makes the outcome final. The first caller that receives it applies the data.
    func makeFinal() { state.withLock { $0.isFinal = true } }

    /// Whether the load has an outcome.
    var isOver: Bool { state.withLock { $0.outcome != nil } }

    /// Whether the load was canceled.
    var isCanceled: Bool {
        state.withLock { if case .canceled? = $0.outcome { true } else { false } }
    }

    /// The error that applying the data has thrown, for the callers after the first.
    var failure: (any Error)? {
        get { state.withLock { $0.failure } }
        set { state.withLock { $0.failure = newValue } }
    }
}

extension LoadFlight.Outcome {
    /// Whether it withdraws the result of a load.
    fileprivate var isWithdrawal: Bool {
        switch self {
        case .canceled, .superseded: true
        case .loaded, .failed: false
        }
    }
}
