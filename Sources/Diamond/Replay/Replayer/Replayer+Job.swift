import DiamondSQLite

/// Sending one job.
extension Replayer {
    /// Sends a claimed job, and writes the result.
    func carry(_ job: ReplayTable.Claimed, _ run: ReplayRun, _ network: NetworkReturn) async {
        let changes = network.changes
        let (result, state) = await queue.owner.attempt { [self] _ in
            let result = await self.result(of: job)
            pass(.beforeFinish)
            let state = await run.noting(job.id) { tell in
                await queue.finish(
                    job, result.outcome, keeping: result.answer, unknownAt: result.unknownAt, tellingFailure: tell)
            }
            return (result, state)
        }
        pass(.afterFinish)
        // It came back before this one waited for it.
        if result.outcome.isOffline, network.changes > changes { network.noteChange() }
        await result.notify(state)
        run.end(state)
        running.withLock { $0 -= 1 }
        queue.owner.leave()
        wake()
    }

    private func result(of job: ReplayTable.Claimed) async -> JobResult {
        let request: Request
        do throws(RequestError) { request = try Request(json: job.request) } catch {
            return JobResult(outcome: .failed(.undecodable, code: "undecodable", message: error.message))
        }
        guard !Task.isCancelled, queue.owner.mayBegin else { return JobResult(outcome: .notBegun) }
        let attempt = JobAttempt(of: .job(job), request, isReplay: true, in: queue) { [pass] in pass(.beforeSend) }
        attempts.withLock { $0[ObjectIdentifier(attempt)] = attempt }
        // Its lane may have been paused since it was claimed.
        recall()
        let result = await attempt.run(send)
        attempts.withLock { $0[ObjectIdentifier(attempt)] = nil }
        pass(.afterSend)
        let isWanted = !Task.isCancelled && queue.owner.mayBegin && !attempt.isRecalled
        return attempt.known(result, isWanted: isWanted)
    }

    /// Gives back jobs in paused lanes that have not begun. They might keep every place until their lanes are resumed.
    func recall() {
        guard let unpaused = lanes?.unpaused, unpaused != .all else { return }
        for attempt in attempts.withLock({ Array($0.values) }) where !unpaused.contains(attempt.request.lane) {
            attempt.recall()
        }
    }
}

extension ReplayOutcome {
    fileprivate var isOffline: Bool { if case .failed(.offline, _, _) = self { true } else { false } }

    static let notBegun = failed(.returned, code: "cancelled", message: "it was given back before it was sent")
}

extension Replayer.Summary {
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
