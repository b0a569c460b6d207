import DiamondSQLite

/// The waits of an engine's requests for anything but the wire: the time between two attempts, and code of the app. A
/// wait ends when its task is canceled, or the engine is closed.
final class PendingWaits: Sendable {
    private struct State {
        /// The functions that end the waits.
        var ends = SlotMap<@Sendable () -> Void>()
        var isClosed = false
    }

    private let state = Guarded(State())
    private let clock: ExchangeClock

    /// Whether the engine is closed, so that nothing more is sent.
    var isClosed: Bool { state.withLock { $0.isClosed } }

    init(by clock: ExchangeClock) { self.clock = clock }

    /// Waits for the value of a body. When the wait ends without it, the body is canceled. It may ignore the
    /// cancellation.
    ///
    /// - Parameters:
    ///   - limit: the limit for the time; `nil` for none.
    ///   - isBeforeWire: whether the value only serves a request over the wire. Such a wait is refused once the
    ///     engine is closed.
    /// - Returns: the value, or the reason why the wait ended before.
    func value<Value: Sendable>(
        within limit: Duration? = nil,
        isBeforeWire: Bool = true,
        _ body: @escaping @Sendable () async -> Value
    ) async -> Result<Value, WaitEnd> {
        if let limit, limit <= .zero { return .failure(.late) }
        let first = Promise<Result<Value, WaitEnd>>()
        let number = begin(isBeforeWire: isBeforeWire) { first.fulfill(with: .failure(.closed)) }
        guard let number else { return .failure(.closed) }
        let task = Task { first.fulfill(with: .success(await body())) }
        defer {
            _ = state.withLock { $0.ends.remove(number) }
            task.cancel()
        }
        return await first.value(within: limit.map(clock.limit)) { first.fulfill(with: .failure($0)) }
    }

    /// Waits between two attempts.
    ///
    /// - Returns: `false` if the waiting task was canceled, or the engine is closed.
    func sleep(_ delay: Duration) async -> Bool {
        let outcome = await value { [clock] in (try? await clock.sleep(delay)) != nil }
        return (try? outcome.get()) ?? false
    }

    private func begin(isBeforeWire: Bool, _ end: @escaping @Sendable () -> Void) -> SlotNumber? {
        state.withLock { state in
            guard !state.isClosed || !isBeforeWire else { return nil }
            return state.ends.add(end)
        }
    }

    /// Ends all current waits. Later waits for values that only serve the wire are refused.
    func close() {
        let ends = state.withLock { state in
            state.isClosed = true
            return Array(state.ends.elements)
        }
        for end in ends { end() }
    }
}
