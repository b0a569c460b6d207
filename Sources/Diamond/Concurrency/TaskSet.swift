import DiamondSQLite

/// A set of tasks that outlive the calls that started them, and that can be canceled and awaited together.
final class TaskSet: Sendable {
    private struct State {
        var running: [Int: Task<Void, Never>] = [:]
        var lastNumber = 0
    }

    private let state = Guarded(State())

    /// Starts a task, and keeps it in the set until it ends.
    ///
    /// - Parameter isDetached: whether the task inherits neither the caller's priority nor its task-local values.
    @discardableResult
    func add(isDetached: Bool = true, _ work: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        state.withLock { state in
            state.lastNumber += 1
            let number = state.lastNumber
            // The task takes the lock to remove itself, so it cannot do that before it is added here.
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

    private var running: [Task<Void, Never>] { state.withLock { Array($0.running.values) } }

    func cancel() {
        for task in running { task.cancel() }
    }

    /// Waits until all tasks added before have ended, or the waiting task is canceled.
    func waitForAll() async {
        for task in running where !Task.isCancelled { await task.ended() }
    }
}

extension Task<Void, Never> {
    /// Waits until the task has ended, or the waiting task is canceled.
    func ended() async {
        let end = Promise<Void>()
        Task { end.fulfill(with: await value) }
        await end.value {}
    }
}
