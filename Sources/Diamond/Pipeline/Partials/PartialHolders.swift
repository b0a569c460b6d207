import DiamondSQLite

/// Who is receiving what may be gone on with: one exchange for each owner, so that the next does not look before the one
/// that was canceled has kept what it has.
final class PartialHolders: Sendable {
    /// For whom something is kept.
    enum Owner: Hashable {
        /// For all who ask the same, in the store.
        case request(RequestKey)
        /// For the connection that keeps it for itself.
        case claimant(ObjectIdentifier)
    }

    private struct Holder {
        let number: Int
        var isLeaving = false
        var waiters: [Promise<Void>] = []
    }

    private struct State {
        var holders: [Owner: Holder] = [:]
        var count = 0
    }

    private let state = Guarded(State())

    /// Waits for one that is leaving.
    ///
    /// - Returns: `false` where another is at work, and will be for a while, and where the waiting task is canceled.
    func settle(_ owner: Owner) async -> Bool {
        while let holder = state.withLock({ $0.holders[owner] }) {
            guard holder.isLeaving, !Task.isCancelled else { return false }
            await wait(for: owner, holder.number)
        }
        return true
    }

    /// Waits for all that are leaving, or until the waiting task is canceled.
    func settle() async {
        while !Task.isCancelled, let (owner, holder) = state.withLock({ $0.holders.first { $0.value.isLeaving } }) {
            await wait(for: owner, holder.number)
        }
    }

    private func wait(for owner: Owner, _ number: Int) async {
        let end = Promise<Void>()
        let isThere = state.withLock { state in
            guard state.holders[owner]?.number == number else { return false }
            state.holders[owner]?.waiters.append(end)
            return true
        }
        if isThere { await end.value {} }
    }

    /// - Returns: the number for the others; `nil` where another is at work.
    func enter(_ owner: Owner) -> Int? {
        state.withLock { state in
            guard state.holders[owner] == nil else { return nil }
            state.count += 1
            state.holders[owner] = Holder(number: state.count)
            return state.count
        }
    }

    /// It was canceled: it will end soon.
    func leave(_ owner: Owner, _ number: Int) {
        state.withLock { state in
            if state.holders[owner]?.number == number { state.holders[owner]?.isLeaving = true }
        }
    }

    /// It has kept what it has. Without effect where it has ended.
    func end(_ owner: Owner, _ number: Int) {
        let waiters = state.withLock { state -> [Promise<Void>] in
            guard let holder = state.holders[owner], holder.number == number else { return [] }
            state.holders[owner] = nil
            return holder.waiters
        }
        for waiter in waiters { waiter.fulfill(with: ()) }
    }
}
