import DiamondSQLite
import Foundation

/// Running, with a task and without one.
extension Connection {
    /// Belongs to an engine from now on, which does not run it yet.
    func belong(to home: ConnectionRegistry) {
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
    func join(_ home: ConnectionRegistry, leaving last: inout ConnectionRegistry?, add: () -> SlotNumber) -> Bool {
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
    func become(memberOf home: ConnectionRegistry, add: () -> SlotNumber) -> Bool {
        core.withLock { core in
            guard !core.isMember, core.home === home, !core.life.isFinished else { return false }
            core.membership = add()
            return true
        }
    }

    // MARK: Runs

    func begin(_ run: ConnectionRun?) {
        guard let run, let home = core.withLock({ $0.home }) else {
            let message = "\(request) has no engine: use Engine.enqueue or Engine.connection(for:)"
            return arrive(.failure(ConnectionError(.noEngine, message)))
        }
        home.gate.add(run)
    }

    /// Ends the connection, where nothing is under way.
    func arrive(_ outcome: ConnectionLife.Outcome) { perform(announcing: true) { $0.arrive(outcome) } }

    private func arrive(_ outcome: ConnectionLife.Outcome, from run: ConnectionRun) {
        performInCore(announcing: true) { core in
            guard core.run === run else { return .nothing }
            core.run = nil
            return core.life.arrive(outcome)
        }
    }

    /// Takes the request to its response.
    func perform(_ run: ConnectionRun) async {
        let (isCurrent, pipeline) = core.withLock { core in
            (core.run === run, core.life.outcome == nil ? core.home?.pipeline : nil)
        }
        guard isCurrent else { return }
        guard let pipeline else { return arrive(.failure(.cancelled), from: run) }
        let isInFlight = core.withLock { $0.isInFlight }
        arrive(
            isInFlight ? await outcomeForWaiters(of: pipeline, run) : await outcome(of: pipeline, run), from: run)
    }

    /// The job of a request that is kept, the same for all runs: one that was paused goes on with its job.
    private func ticket() -> DurableRequest {
        core.withLock { core in
            let ticket = core.ticket ?? DurableRequest()
            core.ticket = ticket
            // Whoever has canceled the connection was told of no job.
            if core.life.isSettled { _ = ticket.cancel() }
            return ticket
        }
    }

    /// Everything that the run does, code of the app included, is done for the exchange and the credential refresh that wait
    /// for it.
    @inline(never)
    private func outcomeForWaiters(of pipeline: Pipeline, _ run: ConnectionRun) async -> ConnectionLife.Outcome {
        let making = core.withLock { $0.making }
        return await CredentialRefreshes.$making.withValue(making) {
            await Hook.run(isInFlight: true) { await self.outcome(of: pipeline, run) }
        }
    }

    private func outcome(of pipeline: Pipeline, _ run: ConnectionRun) async -> ConnectionLife.Outcome {
        guard isPlain, core.withLock({ $0.file == nil }) else { return await specialOutcome(of: pipeline, run) }
        let request: Request
        do throws(ConnectionError) { request = try handedRequest(for: run) } catch {
            return .failure(await pipeline.transformed(error, for: Caller(run: run)))
        }
        do throws(ConnectionError) {
            return .success(try await pipeline.response(to: request, for: caller(of: request, run)))
        } catch {
            return .failure(error)
        }
    }

    /// The outcome of a subclass, or of a download.
    // Not inlined, to keep the async frames of waiting callers small.
    @inline(never)
    private func specialOutcome(of pipeline: Pipeline, _ run: ConnectionRun) async -> ConnectionLife.Outcome {
        let request: Request
        do throws(ConnectionError) {
            request = isPlain ? try handedRequest(for: run) : try await preparedRequest(run, for: pipeline)
        } catch {
            return .failure(await pipeline.transformed(error, for: Caller(run: run)))
        }
        let caller = caller(of: request, run)
        do throws(ConnectionError) {
            guard let file = core.withLock({ $0.file }) else {
                return .success(try await pipeline.response(to: request, for: caller))
            }
            return .success(try await file.response(to: request, over: pipeline, for: caller))
        } catch {
            return .failure(error)
        }
    }

    @inline(never)
    private func caller(of request: Request, _ run: ConnectionRun) -> Caller {
        let (file, token, handler) = core.withLock { ($0.file, $0.token?.id, $0.handler ?? ownHandler) }
        let ticket = request.isKept && file == nil ? ticket() : nil
        return Caller(run: run, handler: handler, ticket: ticket, request: token)
    }

    // MARK: What a run asks

    func mayBegin(_ run: ConnectionRun) -> Bool {
        let (mayBegin, isGivenUp) = core.withLock { core in
            guard core.run === run else { return (false, false) }
            let mayBegin = core.life.mayBegin()
            // The next run begins when the connection is resumed.
            if !core.life.isUnderWay { core.run = nil }
            return (mayBegin, !core.life.isUnderWay)
        }
        if isGivenUp { run.end() }
        return mayBegin
    }

    func mayConclude(_ run: ConnectionRun) -> Bool {
        core.withLock { $0.run === run && $0.life.mayConclude() }
    }

    func mayRecord(_ run: ConnectionRun) -> Bool {
        core.withLock { $0.run === run && $0.life.mayRecord() }
    }

    /// The place for what a paused run has received that no store may keep; one for all runs.
    var resumeSlot: ResumeSlot {
        core.withLock { core in
            if let file = core.file { return file.resumeSlot ?? ResumeSlot() }
            let slot = core.resumeSlot ?? ResumeSlot()
            // A finished connection resumes nothing: a slot that it does not have drops what comes late.
            if core.life.outcome == nil { core.resumeSlot = slot }
            return slot
        }
    }
}
