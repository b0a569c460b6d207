import DiamondSQLite

/// The work that goes on behind answers: what was served stale is brought up to date.
final class Refreshes: Sendable {
    private struct State {
        var running: [Int: Task<Void, Never>] = [:]
        var next = 0
    }

    private let state = Guarded(State())

    func add(_ work: @escaping @Sendable () async -> Void) {
        state.withLock { state in
            let number = state.next
            state.next += 1
            // It takes the lock to remove itself, and so cannot before it is entered here. Nobody waits for it: it has the
            // task-locals of nobody.
            state.running[number] = Task.detached { [self] in
                await work()
                remove(number)
            }
        }
    }

    private func remove(_ number: Int) { _ = state.withLock { $0.running.removeValue(forKey: number) } }

    func cancel() {
        for task in state.withLock({ Array($0.running.values) }) { task.cancel() }
    }

    /// Returns when all that was begun before has ended.
    func settle() async {
        let tasks = state.withLock { Array($0.running.values) }
        for task in tasks { await task.value }
    }
}
