import DiamondSQLite

/// What a request that is kept has to pass before it leaves, and why it has not.
struct JobGate: Sendable {
    let gate: SendGate
    private let refused: Guarded<ReplayOutcome?>

    /// - Parameters:
    ///   - refuse: why it must not leave, asked first; `nil` where nothing is against it.
    ///   - open: whether it may leave, told whether that goes on with what has left already.
    ///   - takeBack: what was let out surely was not processed.
    ///   - rest: nothing is let out for a while.
    init(
        refuse: @escaping @Sendable () async -> ReplayOutcome? = { nil },
        open: @escaping @Sendable (_ isUnderWay: Bool) async -> Bool,
        takeBack: @escaping @Sendable () -> Void,
        rest: @escaping @Sendable () -> Void = {}
    ) {
        let refused = Guarded<ReplayOutcome?>(nil)
        self.refused = refused
        let pass: @Sendable (Bool) async -> Bool = { isUnderWay in
            guard let refusal = await refuse() else { return await open(isUnderWay) }
            refused.withLock { $0 = refusal }
            return false
        }
        gate = SendGate(open: pass, takeBack: takeBack, rest: rest)
    }

    /// Why it has not left. Behind a redirect it may have been done all the same.
    var refusal: ReplayOutcome? {
        let refusal = refused.withLock { $0 }
        return isBehindRedirect ? refusal?.unknown : refusal
    }

    var hasRefused: Bool { gate.hasRefused }
    var isBehindRedirect: Bool { gate.isBehindRedirect }
}
