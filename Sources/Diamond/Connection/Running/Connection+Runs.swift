import DiamondSQLite
import Foundation

/// The runs of a connection, and its registration with an engine.
extension Connection {
    /// Sets the engine of the connection, which does not run it yet.
    func setRegistry(_ registry: ConnectionRegistry) {
        core.withLock { core in
            core.weakRegistry = registry
            if !core.life.isFinished { core.registry = registry }
        }
    }

    /// Makes the connection a member of an engine that is to run it, unless an engine runs it already, or it has
    /// finished.
    ///
    /// - Parameters:
    ///   - former: receives the previous registry, to be freed while no lock is held.
    ///   - add: called only if the connection becomes a member; returns its slot in the registry.
    /// - Returns: whether the connection has become a member.
    func join(
        _ registry: ConnectionRegistry,
        leaving former: inout ConnectionRegistry?,
        add: () -> SlotNumber
    ) -> Bool {
        core.withLock { core in
            guard !core.isMember, !core.life.isExecuting, !core.life.isFinished else { return false }
            core.membership = add()
            core.isInFlight = Hook.isInFlight
            core.secretsInRefresh = CredentialRefreshes.currentSecrets
            former = core.registry
            core.registry = registry
            core.weakRegistry = registry
            return true
        }
    }

    /// Registers a connection that a queue of the user's own has started with its engine.
    func registerIfNeeded() {
        let registry = core.withLock { $0.isMember ? nil : $0.registry }
        registry?.addStarted(self)
    }

    /// Adds a started connection to its engine, unless it has left the engine since.
    ///
    /// - Parameter add: called only if the connection becomes a member; returns its slot in the registry.
    /// - Returns: whether the connection has become a member.
    func become(memberOf registry: ConnectionRegistry, add: () -> SlotNumber) -> Bool {
        core.withLock { core in
            guard !core.isMember, core.registry === registry, !core.life.isFinished else { return false }
            core.membership = add()
            return true
        }
    }

    // MARK: Runs

    func begin(_ run: ConnectionRun?) {
        guard let run, let registry = core.withLock({ $0.registry }) else {
            let message = "\(request) has no engine: use Engine.start or Engine.connection(for:)"
            return endRun(with: .failure(ConnectionError(.noEngine, message)))
        }
        registry.gate.add(run)
    }

    /// Finishes a connection without a run.
    func endRun(with outcome: ConnectionLife.Outcome) { perform(notifyingKVO: true) { $0.endRun(with: outcome) } }

    private func end(_ run: ConnectionRun, with outcome: ConnectionLife.Outcome) {
        performInCore(notifyingKVO: true) { core in
            guard core.run === run else { return .nothing }
            core.run = nil
            return core.life.endRun(with: outcome)
        }
    }

    /// Sends the request and ends the run with the outcome.
    func perform(_ run: ConnectionRun) async {
        let (isCurrent, pipeline) = core.withLock { core in
            (core.run === run, core.life.outcome == nil ? core.registry?.pipeline : nil)
        }
        guard isCurrent else { return }
        guard let pipeline else { return end(run, with: .failure(.cancelled)) }
        let isInFlight = core.withLock { $0.isInFlight }
        let outcome =
            isInFlight ? await outcomeForWaiters(of: run, in: pipeline) : await outcome(of: run, in: pipeline)
        end(run, with: outcome)
    }

    /// Returns the job of a durable request. All runs share it, so that a run after a pause continues with the same
    /// job.
    private func durableRequest() -> DurableRequest {
        core.withLock { core in
            let durable = core.durableRequest ?? DurableRequest()
            core.durableRequest = durable
            // The cancel that has settled the connection could not name this job.
            if core.life.isSettled { _ = durable.cancel() }
            return durable
        }
    }

    /// Returns the outcome of a run that an exchange or a credential refresh waits for. Task-local values mark
    /// everything that the run does, code of the app included.
    private func outcomeForWaiters(of run: ConnectionRun, in pipeline: Pipeline) async -> ConnectionLife.Outcome {
        let secretsInRefresh = core.withLock { $0.secretsInRefresh }
        return await CredentialRefreshes.$currentSecrets.withValue(secretsInRefresh) {
            await Hook.run(isInFlight: true) { await self.outcome(of: run, in: pipeline) }
        }
    }

    private func outcome(of run: ConnectionRun, in pipeline: Pipeline) async -> ConnectionLife.Outcome {
        guard isPlain, core.withLock({ $0.file == nil }) else { return await specialOutcome(of: run, in: pipeline) }
        let request: Request
        do throws(ConnectionError) { request = try updatedRequest(for: run) } catch {
            return .failure(await pipeline.transformed(error, for: Caller(run: run)))
        }
        do throws(ConnectionError) {
            return .success(try await pipeline.response(to: request, for: caller(of: request, in: run)))
        } catch {
            return .failure(error)
        }
    }

    /// Returns the outcome of a subclass or of a download.
    private func specialOutcome(of run: ConnectionRun, in pipeline: Pipeline) async -> ConnectionLife.Outcome {
        let request: Request
        do throws(ConnectionError) {
            request = isPlain ? try updatedRequest(for: run) : try await preparedRequest(for: run, in: pipeline)
        } catch {
            return .failure(await pipeline.transformed(error, for: Caller(run: run)))
        }
        let caller = caller(of: request, in: run)
        do throws(ConnectionError) {
            guard let file = core.withLock({ $0.file }) else {
                return .success(try await pipeline.response(to: request, for: caller))
            }
            return .success(try await file.response(to: request, over: pipeline, for: caller))
        } catch {
            return .failure(error)
        }
    }

    private func caller(of request: Request, in run: ConnectionRun) -> Caller {
        let (file, token, handler) = core.withLock { ($0.file, $0.activityToken?.id, $0.handler ?? ownHandler) }
        let durable = request.isReplayable && file == nil ? durableRequest() : nil
        return Caller(run: run, handler: handler, durableRequest: durable, request: token)
    }

    // MARK: Permissions of a run

    /// Lets a run send its request, if it may.
    ///
    /// - Returns: whether the run may send it.
    func beginIfAllowed(_ run: ConnectionRun) -> Bool {
        let (isAllowed, isAbandoned) = core.withLock { core in
            guard core.run === run else { return (false, false) }
            let isAllowed = core.life.beginIfAllowed()
            // The resume of the connection begins the next run.
            if !core.life.isUnderWay { core.run = nil }
            return (isAllowed, !core.life.isUnderWay)
        }
        if isAbandoned { run.end() }
        return isAllowed
    }

    /// Lets a run do something that cannot be undone, if its outcome is still wanted.
    func concludeIfAllowed(_ run: ConnectionRun) -> Bool {
        core.withLock { $0.run === run && $0.life.concludeIfAllowed() }
    }

    /// Lets a run record its outcome.
    func recordIfAllowed(_ run: ConnectionRun) -> Bool {
        core.withLock { $0.run === run && $0.life.recordIfAllowed() }
    }

    /// The slot for the partial response of a paused run that may not be stored. All runs share it.
    var resumeSlot: ResumeSlot {
        core.withLock { core in
            let slot = core.resumeSlot ?? ResumeSlot()
            // A finished connection resumes nothing: its late parts go into a slot that is dropped.
            if core.life.outcome == nil { core.resumeSlot = slot }
            return slot
        }
    }
}
