import DiamondSQLite
import Foundation

/// Performs the actions of ``ConnectionLife``.
extension Connection {
    /// Performs one step of the connection's life.
    ///
    /// - Parameter notifiesKVO: whether the step may change a property that the operation's queue observes. The keys
    ///   are posted as strings, exactly these two: Foundation on Linux knows no others and no key paths. A post without
    ///   a change is ignored.
    func perform(notifyingKVO notifiesKVO: Bool, _ step: (inout ConnectionLife) -> ConnectionLife.Action) {
        performInCore(notifyingKVO: notifiesKVO) { step(&$0.life) }
    }

    /// Performs one step that depends on more than the life.
    func performInCore(notifyingKVO notifiesKVO: Bool, _ step: (inout Core) -> ConnectionLife.Action) {
        if notifiesKVO { willChangeValue(forKey: "isExecuting") }
        let (action, run, callbacks, isPauseUnrecorded) = core.withLock { core in
            // Read only for the observers, because computing it costs.
            let before = core.observers.isEmpty ? nil : core.life.state
            defer { if let before, core.life.state != before { core.yieldState() } }
            var action = step(&core)
            // Under the same lock: the step abandons or begins exactly this run.
            let run = core.run(after: action, of: self)
            let callbacks = core.takeCallbacks()
            // Another thread is dispatching callbacks, and finishes the operation after them.
            if action == .finish, callbacks.isEmpty, core.callbacks.deferFinish() { action = .nothing }
            return (action, run, callbacks, core.isPauseUnrecorded)
        }
        dispatch(callbacks)
        let isEnd = notifiesKVO && action == .finish
        if isEnd { willChangeValue(forKey: "isFinished") }
        if action == .finish { core.withLock { $0.hasFinished = true } }
        // Foundation on Linux ignores that the execution has ended: it acts on `isFinished`.
        if notifiesKVO, !isEnd || Self.isKeyValueObserved { didChangeValue(forKey: "isExecuting") }
        if isEnd { didChangeValue(forKey: "isFinished") }
        if action == .suspend { run?.abandon() }
        if isPauseUnrecorded { recordPause() }
        execute(action, with: run)
    }

    private func execute(_ action: ConnectionLife.Action, with run: ConnectionRun?) {
        switch action {
        case .nothing, .suspend: break
        case .run: begin(run)
        case .interrupt:
            resumeWaiters()
            run?.cancel()
        case .end:
            resumeWaiters()
            endRun(with: .failure(.cancelled))
        case .settle:
            resumeWaiters()
            DependencyGraph.release(dependentsOf: self)
        case .finish:
            releaseReferences()
            DependencyGraph.release(dependentsOf: self)
            DependencyGraph.drop(dependenciesOf: self)
        }
    }

    /// Resumes the tasks that wait for the response.
    private func resumeWaiters() {
        let waiters = core.withLock { $0.waiters.removeAll() }
        guard !waiters.isEmpty, let outcome else { return }
        for waiter in waiters { waiter.resume(returning: outcome) }
    }

    /// Resumes the tasks that wait for the response of a finished connection, and releases all its references.
    private func releaseReferences() {
        let (outcome, waiters, registry, membership, token, file, rest) = core.withLock { core in
            defer {
                core.updatedRequest = .none
                core.registry = nil
                core.run = nil
                core.resumeSlot = nil
                core.durableRequest = nil
                core.activityToken = nil
            }
            let rest = (core.updatedRequest, core.run, core.resumeSlot)
            return (
                core.life.outcome, core.waiters.removeAll(), core.registry, core.membership, core.activityToken,
                core.file,
                rest
            )
        }
        // Released outside the lock.
        withExtendedLifetime(rest) {}
        file?.close(after: outcome)
        // Before the waiters are resumed: a task that resumes, or that sees the engine idle, must not find the
        // connection among the engine's members.
        if let membership { registry?.remove(membership) }
        token?.end(outcome.map { ActivityOutcome($0) } ?? ActivityOutcome())
        if let outcome { for waiter in waiters { waiter.resume(returning: outcome) } }
        endObservers()
        runCompletion()
    }

    /// Ends the streams of the observers, because the connection has finished, or is freed before it was run.
    func endObservers() {
        let (observers, progressObserver) = core.withLock { ($0.observers.removeAll(), $0.progressObserver) }
        for observer in observers { observer.finish() }
        progressObserver?.close()
    }
}

extension Connection.Core {
    /// Returns the run that an action applies to: the abandoned one, the one to cancel, or the next one.
    mutating func run(after action: ConnectionLife.Action, of connection: Connection) -> ConnectionRun? {
        switch action {
        case .run:
            run = registry.map {
                ConnectionRun(of: connection, at: $0.gate, startedAt: $0.pipeline.invalidations.position)
            }
            return run
        case .suspend:
            defer { run = nil }
            return run
        case .interrupt: return run
        case .nothing, .end, .settle, .finish: return nil
        }
    }

    mutating func takeCallbacks() -> [ConnectionCallbacks.Callback] {
        life.isSettled ? callbacks.take() : []
    }

    /// Sends the state to the observers. Yielding runs no code of theirs.
    func yieldState() { observers.yield(life.state) }
}
