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
        let wait = beginWait(for: scope, as: waiter, countedIn: activityScope, attempt: attempt)
        guard let wait else { return true }
        defer { waiter.onPriorityChange(nil) }
        return await withTaskCancellationHandler {
            await wait.admission.value()
        } onCancel: {
            cancel(wait.number)
        }
    }

    /// A wait for a permit.
    private struct Wait: Sendable {
        let number: SlotNumber
        let admission: Promise<Bool>
    }

    /// - Returns: `nil` if there is a permit without a wait.
    private func beginWait(
        for scope: PermitScope,
        as waiter: any PriorityWaiter,
        countedIn activityScope: () -> ActivityScope?,
        attempt: Int
    ) -> Wait? {
        let priority = waiter.priority
        let wait = state.withLock { queue -> Wait? in
            guard !queue.beginIfRoom(scope) else { return nil }
            let waiting = Waiting()
            return Wait(number: queue.add(waiting, in: scope, priority: priority), admission: waiting.admission)
        }
        guard let wait else { return nil }
        count(wait.number, by: activityScope()?.begin(.queue, attempt: attempt))
        waiter.follow(since: priority) { [self] in change(wait.number, to: $0) }
        return wait
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
