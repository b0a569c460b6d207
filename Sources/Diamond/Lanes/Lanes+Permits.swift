import DiamondSQLite

/// Acquiring permits, and waiting for them.
extension Lanes {
    /// Waits for a permit, which ``release(_:)`` releases.
    ///
    /// - Parameters:
    ///   - waiter: the source of the wait's priority, which may change during the wait.
    ///   - activityScope: the scope that counts the wait; evaluated only if there is a wait.
    ///   - attempt: the number of the attempt that the permit is for.
    /// - Returns: `false` if the waiting task was canceled, and there is no permit to release.
    func acquire(
        _ scope: PermitScope,
        for waiter: any PriorityWaiter,
        countedIn activityScope: @autoclosure () -> ActivityScope? = nil,
        attempt: Int = 1
    ) async -> Bool {
        let number = beginWait(for: scope, as: waiter, countedIn: activityScope, attempt: attempt)
        guard let number else { return true }
        defer { waiter.onPriorityChange(nil) }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in wait(number, resuming: continuation) }
        } onCancel: {
            cancel(number)
        }
    }

    /// - Returns: `nil` if there is a permit without a wait.
    private func beginWait(
        for scope: PermitScope,
        as waiter: any PriorityWaiter,
        countedIn activityScope: () -> ActivityScope?,
        attempt: Int
    ) -> SlotNumber? {
        let priority = waiter.priority
        let number = state.withLock { $0.beginOrWait(in: scope, priority: priority) }
        guard let number else { return nil }
        count(number, by: activityScope()?.begin(.queue, attempt: attempt))
        waiter.follow(since: priority) { [self] in change(number, to: $0) }
        return number
    }

    private func wait(_ number: SlotNumber, resuming continuation: CheckedContinuation<Bool, Never>) {
        let known = state.withLock { state -> Bool? in
            if let isAdmitted = state.decided.removeValue(forKey: number) { return isAdmitted }
            state.queue[number]?.waiter = .task(continuation)
            return nil
        }
        if let known { continuation.resume(returning: known) }
    }

    private func cancel(_ number: SlotNumber) {
        // A waiter that has its permit already releases it itself.
        let waiting = remove(number) { state, waiting in state.decide(number, of: waiting, isAdmitted: false) }
        if case .task(let task)? = waiting?.waiter { task.resume(returning: false) }
    }

    /// Counts a wait that has begun, as long as it lasts.
    func count(_ number: SlotNumber, by token: ActivityToken?) {
        guard let token else { return }
        let isOver = state.withLock { state in
            state.queue[number]?.token = token
            return state.queue[number] == nil
        }
        if isOver { token.end() }
    }

    /// Acquires a permit if there is room; does not wait.
    func acquireIfAvailable(_ scope: PermitScope) -> Bool { state.withLock { $0.queue.beginIfRoom(scope) } }

    /// Changes the priority of a waiter; has no effect if the waiter has its permit.
    func change(_ number: SlotNumber, to priority: RequestPriority) { change { $0.change(number, to: priority) } }

    /// - Parameter note: called under the lock.
    /// - Returns: `nil` if there is no such waiter.
    private func remove(_ number: SlotNumber, note: (inout State, Waiting) -> Void) -> Waiting? {
        let (waiting, wasFavored) = state.withLock { state in
            let wasFavored = state.queue.isFavored(number)
            let waiting = state.queue.remove(number)?.payload
            if let waiting { note(&state, waiting) }
            return (waiting, wasFavored)
        }
        waiting?.token?.end()
        // Others may use the room that was reserved for it.
        if wasFavored { change { _ in } }
        return waiting
    }

    func release(_ scope: PermitScope) { change { $0.end(scope) } }
}

extension Lanes.State {
    /// Begins an exchange if there is room; otherwise adds a waiter.
    ///
    /// - Returns: `nil` if the exchange has begun, else the number of the waiter.
    fileprivate mutating func beginOrWait(in scope: PermitScope, priority: RequestPriority) -> SlotNumber? {
        guard !queue.beginIfRoom(scope) else { return nil }
        return queue.add(Lanes.Waiting(waiter: .undecided), in: scope, priority: priority)
    }

    /// Stores whether a waiter has its permit, while its task cannot be resumed yet.
    mutating func decide(_ number: SlotNumber, of waiting: Lanes.Waiting, isAdmitted: Bool) {
        if case .undecided = waiting.waiter { decided[number] = isAdmitted }
    }
}
