import Diamond
import DiamondSQLite

/// A running load that several callers await, each with its own cancellation.
final class LoadFlight: Sendable {
    enum Completion: Sendable {
        case loaded(any Sendable)
        case failed(any Error)
        /// The load or the waiting task was canceled.
        case canceled
        /// Another load has replaced it.
        case superseded(by: LoadFlight)
    }

    private struct State {
        var completion: Completion?
        /// Whether the completion was applied and can no longer change.
        var isFinal = false
        var waiters: [ObjectIdentifier: Promise<Completion>] = [:]
        /// The number of callers that prepare the data.
        var preparing = 0
        /// The number of callers of a replaced load that have not started to wait for this one yet.
        var expected = 0
        var task: Task<Void, Never>?
        /// The error that applying the data has thrown.
        var failure: (any Error)?
    }

    let load: Load
    /// The load's time in the ``SyncOrder``.
    let time: SyncTime
    private let state = Guarded(State())

    init(_ load: Load, time: SyncTime, work: @escaping @concurrent @Sendable () async throws -> any Sendable) {
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

    /// Waits for the completion. Canceling the last waiting caller cancels the load.
    ///
    /// - Parameter wasExpected: Whether the caller has waited for a load that this one has replaced.
    func completion(wasExpected: Bool = false) async -> Completion {
        let waiter = Promise<Completion>()
        let known = state.withLock { state in
            if wasExpected { state.expected -= 1 }
            if state.completion == nil { state.waiters[waiter.id] = waiter }
            return state.completion
        }
        if let known { return known }
        let received = await waiter.value { .canceled }
        if case .canceled = received {
            drop { $0.waiters[waiter.id] = nil }
            return .canceled
        }
        // The received completion may have been withdrawn since.
        return state.withLock { state in
            state.waiters[waiter.id] = nil
            return state.completion ?? received
        }
    }

    /// Runs `body`, which prepares the loaded data, for a caller. Canceling the last caller cancels the load. A load that
    /// replaces this one meanwhile expects the caller.
    ///
    /// - Returns: Whether the caller was canceled.
    nonisolated(nonsending) func preparing(_ body: () async -> Void) async -> Bool {
        state.withLock { $0.preparing += 1 }
        await body()
        guard Task.isCancelled else {
            state.withLock { $0.preparing -= 1 }
            return false
        }
        drop { $0.preparing -= 1 }
        return true
    }

    /// Removes a canceled caller. Without callers, cancels the load, unless its data was applied.
    private func drop(_ caller: (inout State) -> Void) {
        let (isAbandoned, next) = state.withLock { state -> (Bool, LoadFlight?) in
            caller(&state)
            if case .superseded(let next)? = state.completion { return (false, next) }
            let isWithoutCaller = state.waiters.isEmpty && state.expected == 0 && state.preparing == 0
            return (isWithoutCaller && !state.isFinal, nil)
        }
        // The load that has replaced this one expects the caller.
        next?.drop { $0.expected -= 1 }
        if isAbandoned { end(.canceled) }
    }

    /// Ends the load. A cancellation or another load replaces a completion that was not applied yet.
    func end(_ completion: Completion) {
        let (waiters, task) = state.withLock { state -> ([Promise<Completion>], Task<Void, Never>?) in
            let isWithdrawal = completion.isWithdrawal && !state.isFinal && state.completion?.isWithdrawal == false
            guard state.completion == nil || isWithdrawal else { return ([], nil) }
            state.completion = completion
            if case .superseded(let next) = completion {
                let count = state.waiters.count + state.expected + state.preparing
                next.state.withLock { $0.expected += count }
            }
            return (Array(state.waiters.values), state.task)
        }
        for waiter in waiters { waiter.fulfill(with: completion) }
        task?.cancel()
    }

    /// Makes the completion final. The first caller that receives it applies the data.
    func makeFinal() { state.withLock { $0.isFinal = true } }

    /// Whether the load has a completion.
    var isOver: Bool { state.withLock { $0.completion != nil } }

    /// Whether the load was canceled.
    var isCanceled: Bool {
        state.withLock { if case .canceled? = $0.completion { true } else { false } }
    }

    /// The error that applying the data has thrown, for the callers after the first.
    var failure: (any Error)? {
        get { state.withLock { $0.failure } }
        set { state.withLock { $0.failure = newValue } }
    }
}

extension LoadFlight.Completion {
    /// Whether it withdraws the result of a load.
    fileprivate var isWithdrawal: Bool {
        switch self {
        case .canceled, .superseded: true
        case .loaded, .failed: false
        }
    }
}
