import DiamondSQLite

/// A race of two attempts. The second begins when the first takes long. The attempt that brings an answer first counts,
/// and the other is canceled. If neither brings an answer, the attempt that ends last counts.
struct Hedge: Sendable {
    /// The attempts of a race that has ended.
    struct Race: Sendable {
        /// The attempt that counts.
        let winner: ExchangeAttempt
        /// The other attempt; `nil` if there was none.
        let other: ExchangeAttempt?
    }

    let delay: Duration
    let clock: ExchangeClock
    /// Whether an attempt brought an answer, so that the other need not be waited for.
    let isAnswer: @Sendable (ExchangeAttempt) -> Bool

    /// Runs the race.
    ///
    /// - Parameter second: returns `nil` if a second attempt cannot begin.
    func race(
        _ first: @escaping @Sendable () async -> ExchangeAttempt,
        against second: @escaping @Sendable () async -> ExchangeAttempt?
    ) async -> Race {
        // `true` once the second has begun, `false` once it will not begin any more, `nil` before.
        let begun = Guarded<Bool?>(nil)
        return await withTaskGroup(of: ExchangeAttempt?.self) { group in
            group.addTask { await first() }
            group.addTask {
                guard (try? await clock.sleep(delay)) != nil, begun.decide(true) else { return nil }
                return await second()
            }
            var ended: [ExchangeAttempt] = []
            for await case let attempt? in group {
                ended.append(attempt)
                // The retry policy handles an attempt that fails before the second has begun.
                if isAnswer(attempt) || !begun.decide(false) { group.cancelAll() }
            }
            let winner = ended.remove(at: ended.firstIndex(where: isAnswer) ?? ended.count - 1)
            return Race(winner: winner, other: ended.first)
        }
    }
}

extension Guarded<Bool?> {
    /// Sets the value if it has none yet, and returns whether it is `true` now.
    fileprivate func decide(_ value: Bool) -> Bool {
        withLock { state in
            state = state ?? value
            return state == true
        }
    }
}
