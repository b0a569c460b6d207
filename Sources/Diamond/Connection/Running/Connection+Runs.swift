import DiamondSQLite
import Foundation

/// Running, with a task and without one.
extension Connection {
    /// Belongs to an engine from now on, which does not run it yet.
    func belong(to home: Members) {
        core.withLock { core in
            core.maker = home
            if !core.life.isFinished { core.home = home }
        }
    }

    /// Is run by an engine from now on, unless it is run by one already, or has finished.
    ///
    /// - Parameters:
    ///   - last: whose it was: to be freed where no lock is held.
    ///   - add: called where it is so, and returns its place among the members.
    func join(_ home: Members, leaving last: inout Members?, add: () -> SlotNumber) -> Bool {
        core.withLock { core in
            guard !core.isMember, !core.life.isExecuting, !core.life.isFinished else { return false }
            core.membership = add()
            (core.isInFlight, core.making) = (Hook.isInFlight, CredentialRefreshes.making)
            last = core.home
            (core.home, core.maker) = (home, home)
            return true
        }
    }

    /// Started by a queue of the user's own, it is one of its engine's connections as well.
    func becomeMember() {
        let home = core.withLock { $0.isMember ? nil : $0.home }
        home?.take(self)
    }

    /// Is run by its engine from now on, where that has not been left meanwhile.
    ///
    /// - Parameter add: called where it is so, and returns its place among the members.
    /// - Returns: whether it is so.
    func become(memberOf home: Members, add: () -> SlotNumber) -> Bool {
        core.withLock { core in
            guard !core.isMember, core.home === home, !core.life.isFinished else { return false }
            core.membership = add()
            return true
        }
    }

    // MARK: Runs

    func begin() {
        guard let crew = core.withLock({ $0.home?.crew }) else {
            let message = "\(request) has no engine: use Engine.enqueue or Engine.connection(for:)"
            return arrive(.failure(ConnectionError(.noEngine, message)))
        }
        crew.add(self)
    }

    /// A run without a runner has come to its end.
    func arrive(_ outcome: ConnectionLife.Outcome) {
        perform(announcing: true) { $0.arrive(outcome, from: $0.run) }
    }

    func interrupt() {
        let (runner, claim) = core.withLock { ($0.runner, $0.claim) }
        if let claim { runner?.cancel(claim) }
    }

    /// Takes the request to its response, or to where it has to wait for a place on the wire or for a flight.
    func run(by runner: Runner) async {
        let (taken, left) = core.withLock { core -> (TakenRun?, ConnectionWork?) in
            guard let run = core.life.takeRun() else { return (nil, core.life.isUnderWay ? nil : core.takeWork()) }
            let epoch = core.home?.pipeline.forgotten.count ?? 0
            let claim =
                core.claim
                ?? FlightClaim(of: self, run, epoch: epoch, acceptance: core.acceptance ?? ownAcceptance)
            (core.runner, core.claim) = (runner, claim)
            runner.take(claim)
            return ((run, claim, core.life.wants(run) ? core.home?.pipeline : nil), nil)
        }
        left?.stop()
        guard let (run, claim, pipeline) = taken else { return runner.letGo() }
        guard let pipeline else { return arrive(.failure(.cancelled), at: run, claim, from: runner) }
        let outcome = await outcomeForWhoWaits(of: pipeline, claim)
        if case .failure(let error) = outcome, error.code == .parked { return park(run, claim, runner) }
        arrive(outcome, at: run, claim, from: runner)
    }

    /// The same for all runs, so that one that was paused goes on with its job.
    private func ticket() -> ReplayTicket {
        core.withLock { core in
            let ticket = core.ticket ?? ReplayTicket()
            core.ticket = ticket
            // Whoever has canceled it was told of no job.
            if core.life.isSettled { _ = ticket.cancel() }
            return ticket
        }
    }

    private typealias TakenRun = (run: Int, claim: FlightClaim, pipeline: Pipeline?)

    /// All that it does, code of the app included, is done for the exchange and the refresh that wait for it.
    private func outcomeForWhoWaits(of pipeline: Pipeline, _ claim: FlightClaim) async -> ConnectionLife.Outcome {
        let (isInFlight, making) = core.withLock { ($0.isInFlight, $0.making) }
        guard isInFlight else { return await outcome(of: pipeline, claim) }
        return await CredentialRefreshes.$making.withValue(making) {
            await Hook.run(isInFlight: true) { await self.outcome(of: pipeline, claim) }
        }
    }

    private func outcome(of pipeline: Pipeline, _ claim: FlightClaim) async -> ConnectionLife.Outcome {
        let request: Request
        do throws(ConnectionError) { request = try await preparedRequest(claim, for: pipeline) } catch {
            return .failure(await pipeline.told(error, Asker(claim: claim)))
        }
        let (file, token) = core.withLock { ($0.file, $0.token?.id) }
        let ticket = request.isKept && file == nil ? ticket() : nil
        let asker = Asker(claim: claim, acceptance: claim.acceptance, ticket: ticket, request: token)
        do throws(ConnectionError) {
            if let file { return .success(try await file.response(to: request, over: pipeline, for: asker)) }
            return .success(try await pipeline.response(to: request, asker: asker))
        } catch {
            return .failure(error)
        }
    }

    /// Waits without a task.
    func park(_ run: Int, _ claim: FlightClaim, _ runner: Runner) {
        forget(runner)
        // Canceled or paused before this, it found a runner that had it no more.
        let (isWanted, isCanceled, lanes) = core.withLock { core in
            (core.life.wants(run), core.life.outcome != nil, core.home?.lanes)
        }
        // What does not wait any more is with another runner by now, who brings it to its end.
        guard !isWanted, let lanes, claim.drop(lanes), isCanceled else { return }
        arrive(.failure(.cancelled))
    }

    private func forget(_ runner: Runner) {
        runner.letGo()
        core.withLock { core in if core.runner === runner { core.runner = nil } }
    }

    /// Ends the wait of one that was canceled.
    func leaveLine() {
        let (claim, lanes) = core.withLock { ($0.runner == nil ? $0.claim : nil, $0.home?.lanes) }
        guard let claim, let lanes, claim.drop(lanes) else { return }
        arrive(.failure(.cancelled))
    }

    private func arrive(_ outcome: ConnectionLife.Outcome, at run: Int, _ claim: FlightClaim, from runner: Runner) {
        forget(runner)
        if let lanes = core.withLock({ $0.home?.lanes }) { claim.drop(lanes) }
        perform(announcing: true) { $0.arrive(outcome, from: run) }
    }
}

extension Connection: FlightClaimant {
    var box: PartialBox? { core.withLock { $0.file?.box ?? $0.box } }

    /// The same for all runs.
    func makeBox() -> PartialBox {
        core.withLock { core in
            if let file = core.file { return file.box ?? PartialBox() }
            let box = core.box ?? PartialBox()
            // Canceled, it asks for nothing any more: what comes late is dropped.
            if core.life.outcome == nil { core.box = box }
            return box
        }
    }

    var priority: FlightPriority { FlightPriority(queuePriority) }

    func begins(_ run: Int) -> Bool {
        core.withLock { core in
            let begins = core.life.begins(run)
            if !core.life.isUnderWay { core.claim = nil }
            return begins
        }
    }

    func concludes(_ run: Int) -> Bool { core.withLock { $0.life.concludes(run) } }

    func records(_ run: Int) -> Bool { core.withLock { $0.life.records(run) } }

    func goOn(with run: Int) -> Bool {
        let crew = core.withLock { core -> Crew? in
            if core.life.takeUp(run) { return core.home?.crew }
            // The next run has a claim of its own.
            if !core.life.isUnderWay { core.claim = nil }
            return nil
        }
        crew?.add(self, isResumed: true)
        return crew != nil
    }

    func step(aside isAside: Bool, in run: Int) {
        core.withLock { $0.life.wants(run) ? $0.runner : nil }?.step(aside: isAside)
    }
}
