import DiamondSQLite

/// Taking one job to its end.
extension Replayer {
    /// Sends it where it is still this one's, and takes note of what came of it.
    func carry(_ job: ReplayTable.Claimed, _ ledger: Guarded<Summary>, _ network: NetworkReturn) async {
        let changes = network.changes
        let (sent, state) = await queue.owner.attempt { [self] _ in
            let sent = await self.sent(job)
            pass(.beforeFinish)
            return (sent, await queue.finish(job, sent.outcome))
        }
        pass(.afterFinish)
        // It came back before this one waited for it.
        if sent.outcome.isOffline, network.changes > changes { network.noteChange() }
        await sent.tell(state)
        ledger.withLock { $0.count(state) }
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
        let begun = Guarded(0)
        let sending = Sending(id: job.id, request: request) { [queue, pass] in
            // It follows a redirect, or asks once more with a newer credential.
            let isUnderWay = begun.withLock { $0 > 0 }
            guard await queue.begin(job, isUnderWay: isUnderWay) else { return false }
            begun.withLock { $0 += 1 }
            pass(.beforeSend)
            return true
        }
        let sent = await send(sending)
        pass(.afterSend)
        let isWanted = !Task.isCancelled && queue.owner.mayBegin
        let exchanges = begun.withLock { $0 } - sent.settled
        return Sent(outcome: sent.outcome.known(exchanges: exchanges, isWanted: isWanted), tell: sent.tell)
    }
}

extension ReplayOutcome {
    fileprivate var isOffline: Bool { if case .failed(.offline, _, _) = self { true } else { false } }

    static let notBegun = failed(.returned, code: "cancelled", message: "it was given back before it was sent")
}

extension Replayer.Summary {
    mutating func count(_ states: [ReplayState]) { for state in states { count(state) } }

    fileprivate mutating func count(_ state: ReplayState?) {
        switch state {
        case .done: finished += 1
        case .dead: dead += 1
        case .needsReview: needsReview += 1
        case .waiting, .held, .ready: postponed += 1
        case .running, nil: break
        }
    }
}
