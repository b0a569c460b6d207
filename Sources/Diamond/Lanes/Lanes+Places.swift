import DiamondSQLite

/// Taking permits, and waiting for them.
extension Lanes {
    /// Waits for a permit, which ``leave(_:)`` gives back.
    ///
    /// - Parameters:
    ///   - waiter: has the priority of the wait, and may change it.
    ///   - scope: the scope in which the wait is counted; evaluated only where there is a wait.
    ///   - attempt: the attempt that the permit is for.
    /// - Returns: `false` when the waiting task was canceled, and there is no permit to give back.
    func enter(
        _ place: PermitScope,
        for waiter: any PriorityWaiter,
        in scope: @autoclosure () -> ActivityScope? = nil,
        attempt: Int = 1
    ) async -> Bool {
        guard let number = beginWait(at: place, for: waiter, in: scope, attempt: attempt) else { return true }
        defer { waiter.onPriorityChange(nil) }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in wait(number, waiter) }
        } onCancel: {
            cancel(number)
        }
    }

    /// - Returns: `nil` where there is a place.
    // Not inlined, to keep the async frames of waiting callers small.
    @inline(never)
    private func beginWait(
        at place: PermitScope,
        for waiter: any PriorityWaiter,
        in scope: () -> ActivityScope?,
        attempt: Int
    ) -> SlotNumber? {
        let priority = waiter.priority
        let number = state.withLock { $0.beginOrWait(at: place, priority, for: .undecided) }
        guard let number else { return nil }
        count(number, scope()?.begin(.queue, attempt: attempt))
        waiter.follow(since: priority) { [self] in change(number, to: $0) }
        return number
    }

    private func wait(_ number: SlotNumber, _ waiter: CheckedContinuation<Bool, Never>) {
        let known = state.withLock { state -> Bool? in
            if let isAdmitted = state.decided.removeValue(forKey: number) { return isAdmitted }
            state.queue[number]?.waiter = .task(waiter)
            return nil
        }
        if let known { waiter.resume(returning: known) }
    }

    private func cancel(_ number: SlotNumber) {
        // Where it has a place already, that is given back by who has it.
        let waiting = remove(number) { state, waiting in state.decide(number, waiting, false) }
        if case .task(let task)? = waiting?.waiter { task.resume(returning: false) }
    }

    /// Counts a wait that has begun, for as long as it lasts.
    func count(_ number: SlotNumber, _ token: ActivityToken?) {
        guard let token else { return }
        let isOver = state.withLock { state in
            state.queue[number]?.token = token
            return state.queue[number] == nil
        }
        if isOver { token.end() }
    }

    /// Takes a permit if there is room; does not wait.
    func enterAtOnce(_ place: PermitScope) -> Bool { state.withLock { $0.queue.begins(place) } }

    /// Gives a waiter another priority; without effect where it has its permit.
    func change(_ number: SlotNumber, to priority: RequestPriority) { change { $0.change(number, to: priority) } }

    /// - Parameter note: called under the lock.
    /// - Returns: `nil` for one that does not wait.
    private func remove(_ number: SlotNumber, note: (inout State, Waiting) -> Void = { _, _ in }) -> Waiting? {
        let (waiting, wasFavored) = state.withLock { state in
            let wasFavored = state.queue.isFavored(number)
            let waiting = state.queue.remove(number)?.who
            if let waiting { note(&state, waiting) }
            return (waiting, wasFavored)
        }
        waiting?.token?.end()
        // What was kept for it is there for others.
        if wasFavored { change { _ in } }
        return waiting
    }

    func leave(_ place: PermitScope) { change { $0.end(place) } }
}

extension Lanes.State {
    /// - Returns: `nil` where it has begun, else the number under which it waits.
    fileprivate mutating func beginOrWait(
        at place: PermitScope,
        _ priority: RequestPriority,
        for waiter: Lanes.Waiter
    ) -> SlotNumber? {
        queue.begins(place) ? nil : queue.add(place, priority, Lanes.Waiting(waiter: waiter))
    }

    /// Notes whether a waiter has its permit, where its task cannot be told yet.
    mutating func decide(_ number: SlotNumber, _ waiting: Lanes.Waiting, _ isAdmitted: Bool) {
        if case .undecided = waiting.waiter { decided[number] = isAdmitted }
    }
}
