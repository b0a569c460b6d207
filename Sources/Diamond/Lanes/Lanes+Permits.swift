import DiamondSQLite

/// Acquiring permits, and waiting for them.
extension Lanes {
    /// Waits for a permit, which ``release(_:)`` releases.
    ///
    /// - Parameters:
    ///   - waiter: the source of the wait's priority, which may change during the wait.
    ///   - activityScope: the scope that counts the wait; evaluated only if there is a wait.
    ///   - attempt: the number of the attempt that the permit is for.
    ///   - limit: the limit for the wait; `nil` for none.
    /// - Returns: `false` if the waiting task was canceled or the time is up, and there is no permit to release.
    func acquire(
        _ scope: PermitScope,
        for waiter: any PriorityWaiter,
        countedIn activityScope: @autoclosure () -> ActivityScope? = nil,
        attempt: Int = 1,
        within limit: TimeLimit? = nil
    ) async -> Bool {
        let start = start(for: scope, as: waiter, countedIn: activityScope, attempt: attempt)
        guard case .waiting(let number, let admission) = start else { return true }
        defer { waiter.onPriorityChange(nil) }
        return await admission.value(within: limit) { [self] _ in cancel(number) }
    }

    private enum Start {
        case admitted
        case waiting(SlotNumber, Promise<Bool>)
    }

    /// Admits a waiter if there is room; otherwise begins its wait.
    // Not inlined, because the frames of all waiters would have the values of the beginning.
    @inline(never)
    private func start(
        for scope: PermitScope,
        as waiter: any PriorityWaiter,
        countedIn activityScope: () -> ActivityScope?,
        attempt: Int
    ) -> Start {
        let priority = waiter.priority
        let start = state.withLock { queue -> Start in
            guard !queue.beginIfRoom(scope) else { return .admitted }
            let waiting = Waiting()
            return .waiting(queue.add(waiting, in: scope, priority: priority), waiting.admission)
        }
        guard case .waiting(let number, _) = start else { return start }
        waiter.follow(since: priority) { [self] in change(number, to: $0) }
        count(number, by: activityScope()?.begin(.queue, attempt: attempt))
        return start
    }

    private func cancel(_ number: SlotNumber) {
        let (waiting, wasFavored) = state.withLock { queue in
            let wasFavored = queue.isFavored(number)
            return (queue.remove(number)?.payload, wasFavored)
        }
        // A waiter that has its permit already releases it itself.
        guard let waiting else { return }
        waiting.token?.end()
        // Others may use the room that was reserved for it.
        if wasFavored { change { _ in } }
        waiting.admission.fulfill(with: false)
    }

    /// Counts a wait that has begun, as long as it lasts.
    func count(_ number: SlotNumber, by token: ActivityToken?) {
        guard let token else { return }
        let isOver = state.withLock { queue in
            queue[number]?.token = token
            return queue[number] == nil
        }
        if isOver { token.end() }
    }

    /// Acquires a permit if there is room; does not wait.
    func acquireIfAvailable(_ scope: PermitScope) -> Bool { state.withLock { $0.beginIfRoom(scope) } }

    /// Changes the priority of a waiter; has no effect if the waiter has its permit.
    func change(_ number: SlotNumber, to priority: RequestPriority) { change { $0.change(number, to: priority) } }

    func release(_ scope: PermitScope) { change { $0.end(scope) } }
}
