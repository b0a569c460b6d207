import DiamondSQLite

/// The loop of a run: it claims jobs, sends them, and waits for the next ones.
extension Replayer {
    /// Claims and sends jobs until the run ends.
    func loop(_ run: ReplayRun, ignoringBackoff isIgnoringBackoff: Bool, signal: Signal) async {
        let wakes = ReplayWakes(signal: signal, watch: queue.storage.watch(.jobs) { signal.wake() })
        let number = queue.listeners.add { _ in signal.wake() }
        let answerNumber = answers?.add { [origins = wakes.origins] origin in
            if origins.note(origin) { signal.wake() }
        }
        let listeners = [listenToReachability(for: wakes.network, signal: signal), listenToLanes(signal)]
        await withDiscardingTaskGroup { group in
            var ignoresBackoff = isIgnoringBackoff
            var step = ReplayStep.claim
            while step != .end, !Task.isCancelled, !mustEnd(run), !run.hasFailed {
                step = await nextStep(of: run, wakes: wakes, ignoringBackoff: &ignoresBackoff, sendingIn: &group)
                await perform(step, of: run, wakes: wakes)
            }
            guard let deadline = run.deadline else { return }
            // The deadline also applies to jobs that run when the replayer is stopped, or the queue fails.
            await waitForJobs(of: run, until: deadline, signal: signal)
            if deadline <= queue.clock.uptime() { group.cancelAll() }
        }
        await queue.owner.releaseLockIfSuspended()
        for listener in listeners { listener?.cancel() }
        queue.listeners.remove(number)
        if let answerNumber { answers?.remove(answerNumber) }
        withExtendedLifetime(wakes) {}
    }

    /// Claims jobs, begins to send them, and returns the next step of the loop.
    ///
    /// - Parameter ignoresBackoff: whether jobs that wait after a failure are claimed, too; set to `false` after that.
    private func nextStep(
        of run: ReplayRun,
        wakes: ReplayWakes,
        ignoringBackoff ignoresBackoff: inout Bool,
        sendingIn group: inout DiscardingTaskGroup
    ) async -> ReplayStep {
        await waitForRoom(wakes.signal)
        do throws(ReplayError) {
            let hasOthers = try await wakeJobs(in: run, wakes: wakes, ignoringBackoff: ignoresBackoff)
            ignoresBackoff = false
            // Read before the claim: a job that ends during the claim may have made another job ready.
            let wasIdle = isIdle
            let jobs = try await claim { run.count($0) }
            run.addJobs(jobs.count)
            for job in jobs {
                group.addTask { [network = wakes.network, signal = wakes.signal] in
                    await self.process(job, in: run, network: network)
                    signal.wake()
                }
            }
            let mayBeLast = jobs.isEmpty && run.deadline != nil && wasIdle
            let isLast = mayBeLast ? try await !queue.hasTimedWork() : false
            return .after(
                claiming: jobs.count, isFull: isFull, isLast: isLast,
                isReported: wakes.watch.reportsChanges && (wakes.watch.reportsEnds || !hasOthers))
        } catch {
            queue.report(error)
            // While jobs run, the run waits for their outcomes anyway.
            return .after(error, canWait: run.deadline == nil || run.openJobs > 0)
        }
    }

    /// Waits for the ends of more jobs, if claims are slow and there are jobs for all the room.
    private func waitForRoom(_ signal: Signal) async {
        let end = ContinuousClock.now + lastClaim.withLock { $0.patience }
        while !isIdle, !isFull, ContinuousClock.now < end {
            await signal.wait(within: TimeLimit(end - ContinuousClock.now))
        }
    }

    /// Makes jobs ready that need not wait any longer, or whose owners have died.
    ///
    /// - Returns: whether other processes have owners.
    private func wakeJobs(
        in run: ReplayRun, wakes: ReplayWakes, ignoringBackoff isIgnoringBackoff: Bool
    ) async throws(ReplayError) -> Bool {
        let hasOthers = try await queue.owner.rescue { run.count($0) }
        try await queue.maintainIfNeeded()
        try await retryOffline(wakes.network)
        try await retryAnswered(wakes.origins)
        if isIgnoringBackoff { _ = try await queue.storage.retryEarly(.requested) }
        return hasOthers
    }

    private func perform(_ step: ReplayStep, of run: ReplayRun, wakes: ReplayWakes) async {
        switch step {
        case .claim, .end: break
        case .wait(let limit):
            let limit = await shortened(limit, until: run.deadline, wakes: wakes)
            await wakes.signal.wait(within: TimeLimit(limit, by: queue.clock.sleep))
        case .pause: await wakes.signal.wait(within: TimeLimit(ReplayStep.tick, by: queue.clock.sleep))
        case .fail(let error): run.fail(error)
        }
    }

    /// Listens for changes of the network's reachability until the task is canceled.
    private func listenToReachability(for network: NetworkReturn, signal: Signal) -> Task<Void, Never> {
        Task { [changes = reachability.changes] in
            for await _ in changes {
                network.noteChange()
                signal.wake()
            }
        }
    }

    /// Wakes the loop when a lane is resumed, and recalls jobs when one is paused.
    private func listenToLanes(_ signal: Signal) -> Task<Void, Never>? {
        guard let changes = lanes?.pauseChanges else { return nil }
        return Task {
            for await _ in changes {
                recallPaused()
                signal.wake()
            }
        }
    }

    /// Makes the jobs that wait for the network ready, if it may be reachable again.
    private func retryOffline(_ network: NetworkReturn) async throws(ReplayError) {
        try await network.handle(at: queue.clock.uptime(), isReachable: reachability.isReachable) {
            (hasChanged) async throws(ReplayError) in
            // At the start, jobs that wait after a failure keep their backoff: a program may start often.
            let hasEarly = hasChanged ? try await queue.storage.retryEarly(.networkReturned) : false
            return try await queue.storage.retryEarly(.online) || hasEarly
        }
    }

    /// Makes the jobs ready that wait because their origins could not be reached, if these have answered since.
    private func retryAnswered(_ origins: OriginAnswers) async throws(ReplayError) {
        guard let answered = origins.take(at: queue.clock.uptime()) else { return }
        do throws(ReplayError) {
            _ = try await queue.storage.retryEarly(.originsAnswered(answered))
        } catch {
            for origin in answered { _ = origins.note(origin) }
            throw error
        }
    }

    private var isFull: Bool { running.withLock { $0 >= width } }
    private var isIdle: Bool { running.withLock { $0 == 0 } }

    /// Returns the time until a job reaches its time, or the deadline, but at most `limit`.
    private func shortened(_ limit: Duration, until deadline: Uptime?, wakes: ReplayWakes) async -> Duration {
        let now = queue.clock.uptime()
        var delays = [wakes.network.delay(at: now), wakes.origins.delay(at: now)].compactMap(\.self)
        if !isFull, let next = try? await queue.storage.nextTime() {
            delays.append(next.milliseconds(since: queue.now()))
        }
        if let deadline, deadline != .max { delays.append(deadline.milliseconds(since: now)) }
        return delays.reduce(limit) { min($0, .milliseconds(max(1, $1))) }
    }
}
