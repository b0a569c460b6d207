import DiamondSQLite

/// Taking places on the wire, and waiting for them.
extension Lanes {
    /// Waits for a place, which ``leave(_:)`` gives back.
    ///
    /// - Parameters:
    ///   - scope: what the wait is counted in; asked for only where there is one.
    ///   - attempt: the one that it is for.
    /// - Returns: `false` when the waiting task was canceled, and there is no place to give back.
    func enter(
        _ place: FlightPlace,
        _ priority: FlightPriority = .normal,
        in scope: @autoclosure () -> ActivityScope? = nil,
        attempt: Int = 1
    ) async -> Bool {
        let number = state.withLock { $0.beginOrWait(at: place, priority, as: .undecided) }
        guard let number else { return true }
        count(number, scope()?.begin(.queue, attempt: attempt))
        return await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in wait(number, waiter) }
        } onCancel: {
            cancel(number)
        }
    }

    private func wait(_ number: Int, _ waiter: CheckedContinuation<Bool, Never>) {
        let known = state.withLock { state -> Bool? in
            if case .decided(let isAdmitted)? = state.waiters.removeValue(forKey: number) { return isAdmitted }
            state.waiters[number] = .waiting(waiter)
            return nil
        }
        if let known { waiter.resume(returning: known) }
    }

    private func cancel(_ number: Int) {
        let (waiter, token) = state.withLock { state in
            // Where it has a place already, that is given back by who has it.
            (state.queue.remove(number) ? state.decide(number, false) : nil, state.takeToken(of: number))
        }
        token?.end()
        waiter?.tell(false)
    }

    /// Counts a wait that has begun, for as long as it lasts.
    func count(_ number: Int, _ token: ActivityToken?) {
        guard let token else { return }
        let isOver = state.withLock { state in
            guard state.queue.isWaiting(number) else { return true }
            state.tokens[number] = token
            return false
        }
        if isOver { token.end() }
    }

    /// Takes a place, or waits for one without a task.
    ///
    /// - Parameter call: called where there was none, when there is; then the place is the caller's.
    /// - Returns: `nil` where there is a place, else the number for ``count(_:_:)`` and ``leaveLine(_:)``.
    func enter(
        _ place: FlightPlace,
        _ priority: FlightPriority,
        whenThereIsRoom call: @escaping @Sendable () -> Void
    ) -> Int? {
        state.withLock { $0.beginOrWait(at: place, priority, as: .called(call)) }
    }

    /// Takes a place where there is one; waits for none.
    func enterAtOnce(_ place: FlightPlace) -> Bool { state.withLock { $0.queue.begins(place) } }

    /// Gives one that waits another priority; without effect where it has its place.
    func change(_ number: Int, to priority: FlightPriority) { change { $0.change(number, to: priority) } }

    /// Waits no longer; `false` where the place is there already.
    func leaveLine(_ number: Int) -> Bool {
        let (isLeft, token) = state.withLock { state -> (Bool, ActivityToken?) in
            guard state.queue.remove(number) else { return (false, nil) }
            state.waiters[number] = nil
            return (true, state.takeToken(of: number))
        }
        token?.end()
        return isLeft
    }

    func leave(_ place: FlightPlace) { change { $0.end(place) } }
}

extension Lanes.State {
    /// - Returns: `nil` where it has begun, else the number under which it waits.
    fileprivate mutating func beginOrWait(
        at place: FlightPlace,
        _ priority: FlightPriority,
        as waiter: Lanes.Waiter
    ) -> Int? {
        guard !queue.begins(place) else { return nil }
        let number = queue.add(place, priority)
        waiters[number] = waiter
        return number
    }

    mutating func takeToken(of number: Int) -> ActivityToken? {
        tokens.isEmpty ? nil : tokens.removeValue(forKey: number)
    }

    /// - Returns: who is to be told.
    mutating func decide(_ number: Int, _ isAdmitted: Bool) -> Lanes.Waiter? {
        switch waiters.removeValue(forKey: number) {
        case .undecided?, .decided?, nil:
            waiters[number] = .decided(isAdmitted)
            return nil
        case let waiter?: return waiter
        }
    }
}
