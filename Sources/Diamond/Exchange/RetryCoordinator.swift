import DiamondSQLite
import HTTPTypes

/// The shared state for the repetitions of an engine's exchanges: budgets and circuits by origin, the clock and the
/// random numbers.
final class RetryCoordinator: Sendable {
    private struct State {
        var budgets: RecentlyUsed<String, RetryBudget>
        var circuits: RecentlyUsed<String, CircuitBreaker>?
    }

    let clock: ExchangeClock
    /// The waits before and between attempts.
    let waits: PendingWaits
    private let hasCircuits: Bool
    /// Returns a random number from 0 up to 1.
    let draw: @Sendable () -> Double
    private let state: Guarded<State>

    /// - Parameter circuit: the policy of circuit breakers; `nil` for none.
    init(
        clock: ExchangeClock,
        budget: RetryBudgetPolicy,
        circuit: CircuitPolicy?,
        draw: @escaping @Sendable () -> Double
    ) {
        self.clock = clock
        waits = PendingWaits(by: clock)
        hasCircuits = circuit != nil
        self.draw = draw
        state = Guarded(
            State(
                budgets: RecentlyUsed { RetryBudget(budget) },
                circuits: circuit.map { policy in RecentlyUsed { CircuitBreaker(policy) } }
            ))
    }

    // MARK: Budgets

    /// Adds the share of an exchange to the budget; called for its first attempt.
    ///
    /// - Parameter now: the time by the ``clock``.
    func deposit(to origin: String, at now: EngineTime) { withBudget(of: origin, at: now) { $0.deposit(at: $1) } }

    func canWithdraw(from origin: String) -> Bool { withBudget(of: origin) { $0.canWithdraw(at: $1) } }

    func withdraw(from origin: String) -> Bool { withBudget(of: origin) { $0.withdraw(at: $1) } }

    /// Puts the payment for a repetition that was not sent back into the budget.
    func refund(to origin: String) { withBudget(of: origin) { $0.refund(at: $1) } }

    private func withBudget<Value>(
        of origin: String,
        at time: EngineTime? = nil,
        _ body: (inout RetryBudget, _ now: EngineTime) -> Value
    ) -> Value {
        let now = time ?? clock.uptime()
        return state.withLock { $0.budgets.withValue(of: origin, at: now) { body(&$0, now) } }
    }

    // MARK: Circuits

    /// Admits or refuses an attempt; always `pass` without circuit breakers.
    func admit(to origin: String) -> CircuitBreaker.Admission {
        withCircuit(of: origin) { $0.admit(at: $1) } ?? .pass
    }

    /// Notes the outcome of an attempt.
    ///
    /// - Parameter outcome: the outcome; evaluated only if there are circuit breakers.
    func note(
        _ outcome: @autoclosure () -> RetrySituation.AttemptResult,
        of admission: CircuitBreaker.Admission,
        from origin: String
    ) {
        withCircuit(of: origin) { $0.note(ServerHealth(outcome()), of: admission, at: $1) }
    }

    /// Notes the head of a success. A probe ends with it, because the body may never end.
    func noteHead(of admission: CircuitBreaker.Admission, from origin: String) {
        guard case .probe = admission else { return }
        note(.answered(.ok, [:]), of: admission, from: origin)
    }

    func isCircuitOpen(to origin: String) -> Bool { withCircuit(of: origin) { $0.isOpen(at: $1) } ?? false }

    // The check precedes the lock: every attempt calls this at least twice, and few engines have circuit breakers.
    @discardableResult
    private func withCircuit<Value>(
        of origin: String,
        _ body: (inout CircuitBreaker, _ now: EngineTime) -> Value
    ) -> Value? {
        guard hasCircuits else { return nil }
        let now = clock.uptime()
        return state.withLock { $0.circuits?.withValue(of: origin, at: now) { body(&$0, now) } }
    }
}
