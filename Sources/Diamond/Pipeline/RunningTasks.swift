import DiamondSQLite

/// Tasks that go on behind calls that have returned, and end with the engine.
final class RunningTasks: Sendable {
    private struct State {
        var running: [Int: Task<Void, Never>] = [:]
        var next = 0
    }

    private let state = Guarded(State())

    /// - Parameter isDetached: whether it is nobody's in particular, and has the task-locals of no caller.
    @discardableResult
    func add(isDetached: Bool = true, _ work: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        state.withLock { state in
            let number = state.next
            state.next += 1
            // It takes the lock to remove itself, and so cannot before it is entered here.
            let body: @Sendable () async -> Void = { [self] in
                await work()
                remove(number)
            }
            let task = isDetached ? Task.detached { await body() } : Task { await body() }
            state.running[number] = task
            return task
        }
    }

    private func remove(_ number: Int) { _ = state.withLock { $0.running.removeValue(forKey: number) } }

    func cancel() {
        for task in state.withLock({ Array($0.running.values) }) { task.cancel() }
    }

    /// Returns when all that was begun before has ended, or the waiting task is canceled.
    func settle() async {
        let tasks = state.withLock { Array($0.running.values) }
        for task in tasks where !Task.isCancelled {
            let end = Awaited<Void>()
            Task { end.tell(await task.value) }
            await end.value {}
        }
    }
}
