import DiamondSQLite

/// Who wants to know what happens to jobs in this process.
final class ReplayListeners: Sendable {
    private struct State {
        var next = 0
        var all: [Int: @Sendable ([ReplayTransition]) -> Void] = [:]
    }

    private let state = Guarded(State())

    /// - Parameter hear: called on the thread that has written; be short.
    func add(_ hear: @escaping @Sendable ([ReplayTransition]) -> Void) -> Int {
        state.withLock { state in
            state.next += 1
            state.all[state.next] = hear
            return state.next
        }
    }

    func remove(_ number: Int) { state.withLock { $0.all[number] = nil } }

    func tell(_ transitions: [ReplayTransition]) {
        for hear in state.withLock({ Array($0.all.values) }) { hear(transitions) }
    }
}
