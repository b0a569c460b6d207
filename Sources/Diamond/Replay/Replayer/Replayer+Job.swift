import DiamondSQLite

/// Taking one job to its end.
extension Replayer {
    /// Sends it where it is still this one's, and takes note of what came of it.
    func carry(_ job: ReplayTable.Claimed, _ run: ReplayRun, _ network: NetworkReturn) async {
        let changes = network.changes
        let (sent, state) = await queue.owner.attempt { [self] _ in
            let sent = await self.sent(job)
            pass(.beforeFinish)
            let state = await run.noting(job.id) { tell in
                await queue.finish(job, sent.outcome, keeping: sent.answer, tellingFailure: tell)
            }
            return (sent, state)
        }
        pass(.afterFinish)
        // It came back before this one waited for it.
        if sent.outcome.isOffline, network.changes > changes { network.noteChange() }
        await sent.tell(state)
        run.end(state)
        running.withLock { $0 -= 1 }
        queue.owner.leave()
        wake()
    }

    private func sent(_ job: ReplayTable.Claimed) async -> Sent {
        let request: Request
        do throws(RequestError) { request = try Request(json: job.request) } catch {
            return Sent(outcome: .failed(.undecodable, code: "undecodable", message: error.message))
        }
        guard !Task.isCancelled, queue.owner.mayBegin else { return Sent(outcome: .notBegun) }
        let errand = Errand(request.lane)
        let sending = Sending(id: job.id, request: request) { [queue, pass] in
            guard await errand.begin({ isUnderWay in await queue.begin(job, isUnderWay: isUnderWay) }) else {
                return false
            }
            pass(.beforeSend)
            return true
        }
        errands.withLock { $0[ObjectIdentifier(errand)] = errand }
        // Its lane may have been paused since it was claimed.
        recall()
        let sent = await errand.run { [send] in await send(sending) }
        errands.withLock { $0[ObjectIdentifier(errand)] = nil }
        pass(.afterSend)
        let isWanted = !Task.isCancelled && queue.owner.mayBegin && !errand.isRecalled
        let exchanges = errand.begun - sent.settled
        return Sent(
            outcome: sent.outcome.known(exchanges: exchanges, isWanted: isWanted), keeping: sent.answer, tell: sent.tell
        )
    }
}

extension Replayer {
    /// Takes back what has not begun in lanes that are paused: they might keep every place until they are resumed.
    func recall() {
        guard let unpaused = lanes?.unpaused, unpaused != .all else { return }
        for errand in errands.withLock({ Array($0.values) }) where !unpaused.contains(errand.lane) {
            errand.recall()
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
