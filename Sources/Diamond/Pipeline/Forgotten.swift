import DiamondSQLite

/// Identities that were forgotten, and when: what was under way for them then is not stored.
final class Forgotten: Sendable {
    private struct State {
        var count = 0
        /// The number of the last time, by identity.
        var last: [String: Int] = [:]
    }

    private let state = Guarded(State())

    /// How many times something was forgotten.
    var count: Int { state.withLock { $0.count } }

    func add(_ identity: String) {
        state.withLock { state in
            state.count += 1
            state.last[identity] = state.count
        }
    }

    /// Whether the identity of what is on its way was forgotten since it set out.
    func has(_ passage: Passage) -> Bool {
        guard let identity = passage.wire.identity else { return false }
        return state.withLock { state in state.last[identity].map { $0 > passage.epoch } ?? false }
    }
}
