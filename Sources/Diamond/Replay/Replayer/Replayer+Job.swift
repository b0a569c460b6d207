import DiamondSQLite

/// Sending one job.
extension Replayer {
    /// Sends a claimed job, and writes the result.
    func process(_ job: ReplayClaim, in run: ReplayRun, network: NetworkReturn) async {
        let changes = network.changes
        let (result, state) = await queue.owner.runAttempt { [self] _ in
            let result = await self.result(of: job)
            pass(.beforeFinish)
            let state = await run.writingOutcome(of: job.id) { report in
                await queue.finish(
                    job, outcome: result.outcome, answer: result.answer, unknownSince: result.unknownSince,
                    reportingFailure: report)
            }
            return (result, state)
        }
        pass(.afterFinish)
        // The network returned before this job began to wait for it.
        if result.outcome.isOffline, network.changes > changes { network.noteChange() }
        await result.notify(state)
        run.endJob(state)
        running.withLock { $0 -= 1 }
        queue.owner.leave()
        wake()
    }

    private func result(of job: ReplayClaim) async -> JobResult {
        let request: Request
        do throws(RequestError) { request = try Request(json: job.request) } catch {
            return JobResult(outcome: .failed(.undecodable, code: "undecodable", message: error.message))
        }
        guard !Task.isCancelled, queue.owner.mayBegin else { return JobResult(outcome: .notBegun) }
        let attempt = JobAttempt(of: .job(job), request, isReplay: true, in: queue) { [pass] in pass(.beforeSend) }
        attempts.withLock { $0[ObjectIdentifier(attempt)] = attempt }
        // The job's lane may have been paused since the claim.
        recallPaused()
        let result = await attempt.run(send)
        attempts.withLock { $0[ObjectIdentifier(attempt)] = nil }
        pass(.afterSend)
        let isWanted = !Task.isCancelled && queue.owner.mayBegin && !attempt.isRecalled
        return attempt.known(result, isWanted: isWanted)
    }

    /// Gives back the jobs in paused lanes that have not begun. Otherwise they could use up the replayer's width until
    /// their lanes are resumed.
    func recallPaused() {
        guard let unpaused = lanes?.unpaused, unpaused != .all else { return }
        for attempt in attempts.withLock({ Array($0.values) }) where !unpaused.contains(attempt.request.lane) {
            attempt.recall()
        }
    }
}

extension ReplayOutcome {
    fileprivate var isOffline: Bool { if case .failed(.offline, _, _) = self { true } else { false } }

    /// The outcome of a job that was given back before it was sent.
    static let notBegun = failed(.returned, code: "cancelled", message: "it was given back before it was sent")
}

extension Replayer.Summary {
    /// Counts jobs by their new states.
    mutating func count(_ states: [ReplayState]) { for state in states { count(state) } }

    private mutating func count(_ state: ReplayState) {
        switch state {
        case .done: finished += 1
        case .dead: dead += 1
        case .needsReview: needsReview += 1
        case .waiting, .held, .ready: postponed += 1
        case .running: break
        }
    }
}
