import DiamondSQLite

/// A set of tasks that outlive the calls that started them, and that can be canceled and awaited together. A task may
/// have a key, and only one task at a time has it.
final class TaskSet<Key: Hashable & Sendable>: Sendable {
    private struct State {
        var running: [Int: Task<Void, Never>] = [:]
        /// The number of the task that has a key.
        var numbers: [Key: Int] = [:]
        var lastNumber = 0
    }

    private let state = Guarded(State())

    /// Starts a task, and keeps it in the set until it ends.
    ///
    /// - Parameter isDetached: whether the task inherits neither the caller's priority nor its task-local values.
    @discardableResult
    func add(isDetached: Bool = true, _ work: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        state.withLock { start(work, isDetached: isDetached, in: &$0) }
    }

    /// Starts a detached task, unless a task has the key.
    ///
    /// - Parameter prepare: called if no task has the key; returns the work of the task, which frees the key. The task
    ///   is in the set already, and waits for its work.
    func add(for key: Key, _ prepare: () -> @Sendable () async -> Void) {
        let work = state.withLock { state -> Promise<@Sendable () async -> Void>? in
            guard state.numbers[key] == nil else { return nil }
            let work = Promise<@Sendable () async -> Void>()
            start({ await work.value()() }, isDetached: true, in: &state)
            state.numbers[key] = state.lastNumber
            return work
        }
        // Outside the lock, because it may call code of the app.
        if let work { work.fulfill(with: prepare()) }
    }

    /// Frees a key, so that another task may have it. The task that had it need not have ended.
    func free(_ key: Key) { _ = state.withLock { $0.numbers.removeValue(forKey: key) } }

    @discardableResult
    private func start(
        _ work: @escaping @Sendable () async -> Void,
        isDetached: Bool,
        in state: inout State
    ) -> Task<Void, Never> {
        state.lastNumber += 1
        let number = state.lastNumber
        // The task takes the lock to remove itself, so it cannot do that before it is added here.
        let body: @Sendable () async -> Void = { [self] in
            await work()
            _ = self.state.withLock { $0.running.removeValue(forKey: number) }
        }
        let task = isDetached ? Task.detached { await body() } : Task { await body() }
        state.running[number] = task
        return task
    }

    private var running: [Task<Void, Never>] { state.withLock { Array($0.running.values) } }

    func cancel() {
        for task in running { task.cancel() }
    }

    /// Waits until all tasks added before have ended, or the waiting task is canceled.
    func waitForAll() async { await running.ended() }

    /// Waits until the tasks that have some of the keys have ended, or the waiting task is canceled.
    func wait(where isIncluded: (Key) -> Bool) async {
        let tasks = state.withLock { state in
            state.numbers.compactMap { key, number in isIncluded(key) ? state.running[number] : nil }
        }
        await tasks.ended()
    }
}

extension [Task<Void, Never>] {
    fileprivate func ended() async {
        for task in self where !Task.isCancelled { _ = await task.outcome() }
    }
}

extension Task {
    /// Waits for the result of the task until the waiting task is canceled; then it returns `nil`.
    func outcome() async -> Result<Success, Failure>? {
        let outcome = Promise<Result<Success, Failure>?>()
        Task<Void, Never> { outcome.fulfill(with: await result) }
        return await outcome.value { nil }
    }
}
