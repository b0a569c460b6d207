import DiamondSQLite
import Foundation

/// Doing what ``ConnectionLife`` says.
extension Connection {
    /// Takes one step of the connection's life.
    ///
    /// - Parameter announcing: whether the step may change what the operation's queue watches. The keys are posted as
    ///   strings, exactly these two: Foundation on Linux knows no others and no key paths. Where nothing has changed
    ///   the post is ignored.
    func perform(announcing: Bool, _ step: (inout ConnectionLife) -> ConnectionLife.Action) {
        performInCore(announcing: announcing) { step(&$0.life) }
    }

    /// Takes one step that depends on more than the life.
    func performInCore(announcing: Bool, _ step: (inout Core) -> ConnectionLife.Action) {
        if announcing { willChangeValue(forKey: "isExecuting") }
        let (action, run, callbacks, isHoldNew) = core.withLock { core in
            // Known only to be told: it is worked out of the outcome.
            let before = core.observers.isEmpty ? nil : core.life.state
            defer { if let before, core.life.state != before { core.announce() } }
            var action = step(&core)
            // With the step: a run that is given up, or begun, is this one.
            let run = core.run(after: action, of: self)
            let callbacks = core.takeCallbacks()
            // Another thread hands callbacks over, and finishes the operation behind them.
            if action == .finish, callbacks.isEmpty, core.callbacks.leaveEnd() { action = .nothing }
            return (action, run, callbacks, core.isHoldNew)
        }
        handOver(callbacks)
        let isEnd = announcing && action == .finish
        if isEnd { willChangeValue(forKey: "isFinished") }
        if action == .finish { core.withLock { $0.hasFinished = true } }
        if announcing { didChangeValue(forKey: "isExecuting") }
        if isEnd { didChangeValue(forKey: "isFinished") }
        if action == .suspend { run?.giveUp() }
        if isHoldNew { countHold() }
        obey(action, with: run)
    }

    private func obey(_ action: ConnectionLife.Action, with run: ConnectionRun?) {
        switch action {
        case .nothing, .suspend: break
        case .run: begin(run)
        case .interrupt:
            settle()
            run?.cancel()
        case .end:
            settle()
            arrive(.failure(.cancelled))
        case .settle:
            settle()
            DependencyGraph.release(dependentsOf: self)
        case .finish:
            letGo()
            DependencyGraph.release(dependentsOf: self)
            DependencyGraph.drop(dependenciesOf: self)
        }
    }

    /// Resumes the tasks that wait for the response.
    private func settle() {
        let waiters = core.withLock { $0.takeWaiters() }
        guard !waiters.isEmpty, let outcome else { return }
        for waiter in waiters { waiter.resume(returning: outcome) }
    }

    /// Resumes the tasks that wait for the response of a finished connection, and breaks all ties of the connection.
    private func letGo() {
        let (outcome, waiters, home, membership, token, file, rest) = core.withLock { core in
            defer {
                (core.handed, core.home) = (.none, nil)
                (core.run, core.resumeSlot, core.ticket, core.token) = (nil, nil, nil, nil)
            }
            let rest = (core.handed, core.run, core.resumeSlot)
            return (core.life.outcome, core.takeWaiters(), core.home, core.membership, core.token, core.file, rest)
        }
        // Freed where no lock is held.
        withExtendedLifetime(rest) {}
        file?.close()
        // First: where all is idle, or the response is here, it is no member any more, and counts no more.
        if let membership { home?.remove(membership) }
        token?.end(outcome.map { ActivityOutcome($0) } ?? ActivityOutcome())
        if let outcome { for waiter in waiters { waiter.resume(returning: outcome) } }
        endObservers()
        callBack()
    }

    /// Ends the streams of the observers: the connection has finished, or is freed before it was run.
    func endObservers() {
        let (observers, watch) = core.withLock { ($0.observers.removeAll(), $0.watch) }
        for observer in observers { observer.finish() }
        watch?.close()
    }
}

extension Connection.Core {
    fileprivate mutating func takeWaiters() -> [CheckedContinuation<ConnectionLife.Outcome, Never>] {
        defer { waiters = [] }
        return waiters
    }

    /// Returns the run that an action is about: the one that is given up, the one to be canceled, or the next one.
    mutating func run(after action: ConnectionLife.Action, of connection: Connection) -> ConnectionRun? {
        switch action {
        case .run:
            run = home.map { ConnectionRun(of: connection, at: $0.gate, startedAt: $0.pipeline.invalidations.now) }
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

    /// Sends the state to the observers; yielding never calls out.
    func announce() { observers.yield(life.state) }
}
