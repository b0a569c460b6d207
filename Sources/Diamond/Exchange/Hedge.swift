import DiamondSQLite

/// A race of two attempts, the second begun when the first takes long: the first that brings an answer counts, and the
/// other is canceled. Where neither does, it is the last.
struct Hedge: Sendable {
    let delay: Duration
    let clock: ExchangeClock
    /// Whether nothing better is to be expected of the other.
    let isAnswer: @Sendable (ExchangeAttempt) -> Bool

    /// - Parameter second: returns `nil` where there is none.
    /// - Returns: the one that counts, and the other where there was one.
    func race(
        _ first: @escaping @Sendable () async -> ExchangeAttempt,
        beside second: @escaping @Sendable () async -> ExchangeAttempt?
    ) async -> (attempt: ExchangeAttempt, other: ExchangeAttempt?) {
        // Whether the second has begun, or will not.
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
                // One that fails before the second has begun is the retry policy's.
                if isAnswer(attempt) || !begun.decide(false) { group.cancelAll() }
            }
            let winner = ended.remove(at: ended.firstIndex(where: isAnswer) ?? ended.count - 1)
            return (winner, ended.first)
        }
    }
}

extension Guarded<Bool?> {
    /// Only the first counts.
    fileprivate func decide(_ value: Bool) -> Bool {
        withLock { state in
            state = state ?? value
            return state == true
        }
    }
}
