import Diamond
import DiamondSQLite

/// A load under way, which several callers wait for, each with its own cancellation.
final class LoadFlight: Sendable {
    enum Outcome: Sendable {
        case loaded(any Sendable)
        case failed(any Error)
        /// The load, or the task that waits for it, was canceled.
        case canceled
        /// Another load has taken its place.
        case superseded(by: LoadFlight)
    }

    private struct State {
        var outcome: Outcome?
        /// Whether the outcome has taken effect, and stays.
        var isFinal = false
        var waiters: [ObjectIdentifier: Promise<Outcome>] = [:]
        /// The callers of a load that this one has replaced, and that have not come yet.
        var expected = 0
        var task: Task<Void, Never>?
        /// The error with which the data was taken in.
        var failure: (any Error)?
    }

    let load: Load
    /// The time of the load in the order of loads and saves.
    let time: Int
    private let state = Guarded(State())

    init(_ load: Load, time: Int, _ work: @escaping @concurrent @Sendable () async throws -> any Sendable) {
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

    /// Waits for the outcome. When the last caller that waits has been canceled, so is the load.
    ///
    /// - Parameter wasExpected: whether the caller has waited for a load that this one has replaced.
    func outcome(wasExpected: Bool = false) async -> Outcome {
        let waiter = Promise<Outcome>()
        let known = state.withLock { state in
            if wasExpected { state.expected -= 1 }
            if state.outcome == nil { state.waiters[ObjectIdentifier(waiter)] = waiter }
            return state.outcome
        }
        if let known { return known }
        let told = await waiter.value { .canceled }
        if case .canceled = told {
            leave(waiter)
            return .canceled
        }
        // What it was told may have been withdrawn since.
        return state.withLock { state in
            state.waiters[ObjectIdentifier(waiter)] = nil
            return state.outcome ?? told
        }
    }

    /// Takes a caller away that was canceled. Without any the load ends, also one whose data was not taken in yet.
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

    /// Ends the load. An outcome that has not taken effect yet gives way to a cancellation, and to another load.
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

    /// Notes that the outcome takes effect: the first caller to be told of it takes the data in.
    func makeFinal() { state.withLock { $0.isFinal = true } }

    /// Whether there is an outcome.
    var isOver: Bool { state.withLock { $0.outcome != nil } }

    /// Whether the load was canceled, by its last caller or for all.
    var isCanceled: Bool {
        state.withLock { if case .canceled? = $0.outcome { true } else { false } }
    }

    /// The error with which the data was taken in, for the callers behind the first.
    var failure: (any Error)? {
        get { state.withLock { $0.failure } }
        set { state.withLock { $0.failure = newValue } }
    }
}

extension LoadFlight.Outcome {
    /// Whether it withdraws what a load has brought.
    fileprivate var isWithdrawal: Bool {
        switch self {
        case .canceled, .superseded: true
        case .loaded, .failed: false
        }
    }
}
