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
            core.withLock { $0.runner }?.cancel(self)
            leaveLine()
        case .settle:
            settle()
            DependencyGraph.release(dependentsOf: self)
        case .finish:
            settle()
            letGo()
            DependencyGraph.release(dependentsOf: self)
            DependencyGraph.drop(dependenciesOf: self)
        }
    }

    private func begin() {
        guard let crew = core.withLock({ $0.crew }) else {
            let message = "\(request) has no engine: use Engine.enqueue or Engine.connection(for:)"
            return perform(announcing: true) { $0.arrive(.failure(ConnectionError(.noEngine, message))) }
        }
        crew.add(self)
    }

    /// Takes the request to its response, or to where it has to wait for a place on the wire.
    func run(by runner: Runner) async {
        runner.take(self)
        let pipeline = core.withLock { core in
            core.runner = runner
            return core.life.outcome == nil ? core.pipeline : nil
        }
        guard let pipeline else { return arrive(.failure(.cancelled), from: runner) }
        let outcome = await outcome(of: pipeline)
        if case .failure(let error) = outcome, error.code == .parked { return park(runner) }
        arrive(outcome, from: runner)
    }

    private var asker: Asker {
        let new = PlaceClaim(
            run: { [self] in self.core.withLock { $0.crew }?.add(self, isResumed: true) },
            stepAside: { [self] isAside in self.core.withLock { $0.runner }?.step(aside: isAside) }
        )
        let claim = core.withLock { core in
            let claim = core.claim ?? new
            core.claim = claim
            return claim
        }
        return Asker(priority: FlightPriority(queuePriority), claim: claim)
    }

    private func outcome(of pipeline: Pipeline) async -> ConnectionLife.Outcome {
        do throws(ConnectionError) {
            return .success(try await pipeline.response(to: try handedRequest(), asker: asker))
        } catch {
            return .failure(error)
        }
    }

    /// Waits for a place without a task.
    private func park(_ runner: Runner) {
        runner.letGo()
        core.withLock { $0.runner = nil }
        // Canceled before this, it found a runner that had it no more.
        if core.withLock({ $0.life.outcome != nil }) { leaveLine() }
    }

    private func leaveLine() {
        let (claim, lanes) = core.withLock { ($0.runner == nil ? $0.claim : nil, $0.pipeline?.lanes) }
        guard let claim, let lanes, claim.drop(lanes) else { return }
        perform(announcing: true) { $0.arrive(.failure(.cancelled)) }
    }

    private func arrive(_ outcome: ConnectionLife.Outcome, from runner: Runner) {
        runner.letGo()
        let (claim, lanes) = core.withLock { ($0.claim, $0.pipeline?.lanes) }
        if let lanes { claim?.drop(lanes) }
        perform(announcing: true) { $0.arrive(outcome) }
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
        let (observers, whenFinished) = core.withLock { core in
            defer {
                core.observers = [:]
                core.handed = nil
                core.runner = nil
                core.claim = nil
                core.crew = nil
                core.pipeline = nil
                core.whenFinished = nil
            }
            return (core.observers.values, core.whenFinished)
        }
        whenFinished?()
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
