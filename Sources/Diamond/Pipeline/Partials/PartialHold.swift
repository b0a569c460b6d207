import DiamondSQLite

/// One exchange's stay among the ``PartialHolders``; over at the latest when it is dropped.
final class PartialHold: Sendable {
    private struct State {
        var number: Int?
        var hasBegun = false
        var isLeaving = false
        var isOver = false
    }

    private let state = Guarded(State())
    private let owner: PartialHolders.Owner
    private let holders: PartialHolders

    init(of owner: PartialHolders.Owner, among holders: PartialHolders) {
        self.owner = owner
        self.holders = holders
    }

    deinit { end() }

    /// - Returns: `false` where another is at work.
    func settle() async -> Bool { await holders.settle(owner) }

    /// Begins the stay, once; not where the exchange was canceled before: the next one may have looked already.
    ///
    /// - Returns: whether it is the one.
    func enter() -> Bool {
        state.withLock { state in
            state.hasBegun = true
            guard !state.isOver, !state.isLeaving else { return state.number != nil }
            if state.number == nil { state.number = holders.enter(owner) }
            return state.number != nil
        }
    }

    /// Whether it was to begin, as the one or beside another.
    var hasBegun: Bool { state.withLock { $0.hasBegun } }

    /// The exchange was canceled.
    func leave() {
        let number = state.withLock { state in
            state.isLeaving = true
            return state.number
        }
        if let number { holders.leave(owner, number) }
    }

    func end() {
        let number = state.withLock { state in
            defer { (state.number, state.isOver) = (nil, true) }
            return state.number
        }
        if let number { holders.end(owner, number) }
    }
}
