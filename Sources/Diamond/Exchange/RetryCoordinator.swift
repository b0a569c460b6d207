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
    /// The waits between two attempts, and before each.
    let waits: PendingWaits
    private let hasCircuits: Bool
    /// Returns a random number from 0 up to 1.
    let draw: @Sendable () -> Double
    private let state: Guarded<State>

    /// - Parameter circuit: `nil` for none.
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

    /// For the first attempt of every exchange.
    ///
    /// - Parameter now: by the ``clock``.
    func deposit(to origin: String, at now: Int64) { withBudget(of: origin, at: now) { $0.deposit(at: now) } }

    func canWithdraw(from origin: String) -> Bool {
        let now = clock.uptime()
        return withBudget(of: origin, at: now) { $0.canWithdraw(at: now) }
    }

    func withdraw(from origin: String) -> Bool {
        let now = clock.uptime()
        return withBudget(of: origin, at: now) { $0.withdraw(at: now) }
    }

    /// A repetition that was paid was not sent.
    func refund(to origin: String) {
        let now = clock.uptime()
        withBudget(of: origin, at: now) { $0.refund(at: now) }
    }

    private func withBudget<Value>(of origin: String, at now: Int64, _ body: (inout RetryBudget) -> Value) -> Value {
        state.withLock { $0.budgets.withValue(of: origin, at: now, body) }
    }

    // MARK: Circuits

    /// `pass` where there are no circuits.
    func admit(to origin: String) -> CircuitBreaker.Admission {
        withCircuit(of: origin) { $0.admit(at: $1) } ?? .pass
    }

    /// - Parameter outcome: asked for only where there are circuits.
    func note(
        _ outcome: @autoclosure () -> RetrySituation.Outcome,
        of admission: CircuitBreaker.Admission,
        from origin: String
    ) {
        withCircuit(of: origin) { $0.note(ServerHealth(outcome()), of: admission, at: $1) }
    }

    /// A success is here but for its body, which may never end: whoever waits for a probe need not wait for that.
    func noteHead(of admission: CircuitBreaker.Admission, from origin: String) {
        guard case .probe = admission else { return }
        note(.answered(.ok, [:]), of: admission, from: origin)
    }

    func isCircuitOpen(to origin: String) -> Bool { withCircuit(of: origin) { $0.isOpen(at: $1) } ?? false }

    // Looked at before the lock: every attempt comes by twice, and hardly an engine has circuits.
    @discardableResult
    private func withCircuit<Value>(
        of origin: String,
        _ body: (inout CircuitBreaker, _ now: Int64) -> Value
    ) -> Value? {
        guard hasCircuits else { return nil }
        let now = clock.uptime()
        return state.withLock { $0.circuits?.withValue(of: origin, at: now) { body(&$0, now) } }
    }
}
