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
        if announcing { Self.watched.forEach(willChangeValue(forKey:)) }
        let action = core.withLock { core in
            let before = core.life.state
            defer { if core.life.state != before { core.announce() } }
            return step(&core.life)
        }
        if announcing { Self.watched.forEach(didChangeValue(forKey:)) }
        obey(action)
    }

    private static let watched = ["isExecuting", "isFinished"]

    private func obey(_ action: ConnectionLife.Action) {
        switch action {
        case .nothing: break
        case .run: begin()
        case .interrupt:
            settle()
            core.withLock { $0.task }?.cancel()
        case .settle: settle()
        case .finish:
            settle()
            letGo()
        }
    }

    private func begin() {
        let task = Task { [self] in
            let outcome = await outcome()
            perform(announcing: true) { $0.arrive(outcome) }
        }
        // A cancel that came before the task was known has found nothing to interrupt.
        let isFinished = core.withLock { core in
            if core.life.state != .finished { core.task = task }
            return core.life.state == .finished
        }
        if !isFinished, isCancelled { task.cancel() }
    }

    private func outcome() async -> ConnectionLife.Outcome {
        guard let pipeline = core.withLock({ $0.pipeline }) else {
            return .failure(
                ConnectionError(.noEngine, "\(request) has no engine: use Engine.enqueue or Engine.connection(for:)"))
        }
        do throws(ConnectionError) {
            return .success(try await pipeline.response(to: request))
        } catch {
            return .failure(error)
        }
    }

    /// Tells those who wait for the response.
    private func settle() {
        let (waiters, outcome) = core.withLock { core in
            defer { core.waiters = [] }
            return (core.waiters, core.life.outcome)
        }
        guard let outcome else { return }
        for waiter in waiters { waiter.resume(returning: outcome) }
    }

    /// Breaks every tie of a finished connection. Foundation on Linux keeps the completion block, and what it captures,
    /// for ever; by now it has been handed to its queue.
    private func letGo() {
        let observers = core.withLock { core in
            defer {
                core.observers = [:]
                core.task = nil
                core.pipeline = nil
            }
            return core.observers.values
        }
        for observer in observers { observer.finish() }
        completionBlock = nil
    }
}

extension Connection.Core {
    /// Tells the observers where the connection stands; yielding never calls out.
    func announce() {
        for observer in observers.values { observer.yield(life.state) }
    }
}
