import DiamondSQLite
import Foundation
import HTTPTypes

/// What becomes of requests that are kept where they cannot be sent.
extension Pipeline {
    /// A run of a request that is kept, and for whom it is.
    private struct KeptRun {
        let ticket: ReplayTicket
        let number: Int
        let draft: ReplayDraft
        let queue: ReplayQueue
        let caller: Caller

        /// Whether it may write down what it has come to. One that a pause has given up does not: the next one sends it
        /// again, with the same job.
        func records() -> Bool { caller.run?.mayRecord() != false }
    }

    /// - Throws: ``ConnectionError/Code-swift.struct/queued`` where the request is kept, and sent later.
    func keeping(_ request: Request, for caller: Caller) async throws(ConnectionError) -> Response {
        let ticket = caller.ticket ?? ReplayTicket()
        let number = ticket.beginRun()
        let (queue, draft) = try await draft(of: request, ticket, caller)
        var kept = try draft.sent()
        (kept.cache, kept.replay) = (request.cache, .never)
        let run = KeptRun(ticket: ticket, number: number, draft: draft, queue: queue, caller: caller)
        let isHarmless = (kept.retry ?? retry).retriesUnsafeMethods
        guard try isDurable(draft, ticket, in: queue) else {
            let gate = JobGate { [self] in
                ticket.cutOff(in: number, isHarmless: isHarmless).flatMap {
                    refusal(of: draft, behind: $0, at: queue.now())
                }
            } open: { _ in
                ticket.begin(in: number, at: queue.now())
                return true
            } takeBack: {
                ticket.takeBack(in: number)
            }
            return try await keepingOnFailure(kept, draft, run, gate)
        }
        switch try await place(draft, ticket, in: queue) {
        case .queued(let id): throw ConnectionError(queued: id, kept)
        case .claimed(let job):
            let gate = gate(for: kept) { isUnderWay in
                await ticket.begin(
                    job, in: number, at: queue.now(), isHarmless: isHarmless, isUnderWay: isUnderWay, in: queue)
            } takeBack: {
                ticket.takeBack(in: number)
            } rest: {
                // Nobody waits for the disk: the next attempt has its turn after it.
                Task { await ticket.giveUp(job, of: number, in: queue) }
            }
            return try await queue.owner.attempt { [self, kept] isGivenUp in
                await Result { () async throws(ConnectionError) in
                    try await sending(kept, job, run, gate, isGivenUp)
                }
            }.get()
        }
    }

    /// Asks for whom the request is, once for all runs: one that has come to its place keeps that.
    private func draft(
        of request: Request, _ ticket: ReplayTicket, _ caller: Caller
    ) async throws(ConnectionError) -> (ReplayQueue, ReplayDraft) {
        guard !ticket.isDrafted else { return try await kept(request, ticket) }
        return try await caller.aside { () async throws(ConnectionError) in
            try await time.left(of: request).value { [self] () async throws(ConnectionError) in
                try await self.kept(request, ticket)
            }
        }
    }

    private func kept(
        _ request: Request, _ ticket: ReplayTicket
    ) async throws(ConnectionError) -> (ReplayQueue, ReplayDraft) {
        guard let place = replays else {
            let message = "\(request) is to be kept, and the engine has no store: give its configuration one"
            throw ConnectionError(.cannotQueue, message)
        }
        do throws(ReplayError) {
            let queue = try place.take()
            return (queue, try await ticket.draft(of: request, for: queue))
        } catch {
            throw ConnectionError(cannotQueue: error)
        }
    }

    private func isDurable(
        _ draft: ReplayDraft, _ ticket: ReplayTicket, in queue: ReplayQueue
    ) throws(ConnectionError) -> Bool {
        do throws(ReplayError) { return try ticket.isDurable(draft, in: queue) } catch {
            throw ConnectionError(cannotQueue: error)
        }
    }

    private func place(
        _ draft: ReplayDraft,
        _ ticket: ReplayTicket,
        in queue: ReplayQueue
    ) async throws(ConnectionError) -> ReplayTicket.Place {
        do throws(ReplayError) { return try await ticket.place(draft, in: queue) } catch {
            throw ConnectionError(cannotQueue: error)
        }
    }

    // MARK: Durable

    /// - Parameter isGivenUp: whether the job is given back before others may take it.
    private func sending(
        _ request: Request,
        _ job: ReplayTable.Claimed,
        _ run: KeptRun,
        _ gate: JobGate,
        _ isGivenUp: @Sendable () -> Bool
    ) async throws(ConnectionError) -> Response {
        let arrival = await Result { () async throws(ConnectionError) in
            try await unkeptResponse(to: request, for: run.caller.behind(gate.gate))
        }
        let isGivenUp = isGivenUp()
        let answer = run.draft.policy.keepsAnswer ? ReplayAnswer(arrival) : nil
        guard gate.hasRefused || !arrival.isOpen(isGivenUp: isGivenUp), run.records() else {
            // Not settled: the one who paused it goes on with the same job, and who drops it gives it back.
            if case .failure(let error) = arrival, case .some = error.head {
                run.ticket.note(answer: outcome(of: error, request, gate))
            }
            await run.ticket.giveUp(job, of: run.number, in: run.queue)
            throw ConnectionError(leaving: job.id, arrival)
        }
        switch arrival {
        case .success(let response):
            let (outcome, settled) = (outcome(of: response, request, gate), max(0, response.attempts.count - 1))
            let state = await settle(
                job, outcome, response.attempts, keeping: answer, settled: settled, isWanted: true, run)
            guard state == .done || state == .dead else { throw ConnectionError(queued: job.id, request, response) }
            return response
        case .failure(let error):
            let (outcome, settled) = (outcome(of: error, request, gate), error.settledExchanges)
            let state = await settle(
                job, outcome, error.attempts, keeping: answer, settled: settled, isWanted: !isGivenUp, run)
            // Whoever has gone away is told so, though an answer was here.
            guard !error.isGivenUp || isGivenUp || gate.hasRefused else {
                throw ConnectionError(leaving: job.id, arrival)
            }
            guard state == .done || state == .dead else { throw ConnectionError(queued: job.id, request, error) }
            throw gate.hasRefused ? ConnectionError(expired: job.id, request, error) : error
        }
    }

    /// - Parameters:
    ///   - answer: the answer to keep with the job; `nil` for none.
    ///   - settled: how many exchanges count no more.
    ///   - isWanted: whether nobody has asked for the end.
    private func settle(
        _ job: ReplayTable.Claimed,
        _ outcome: ReplayOutcome,
        _ attempts: [Attempt],
        keeping answer: ReplayAnswer?,
        settled: Int,
        isWanted: Bool,
        _ run: KeptRun
    ) async -> ReplayState? {
        let unknownAt = attempts.unknownAt.map { run.queue.time(ofWall: $0) }
        return await run.ticket.settle(
            job, outcome, keeping: answer, of: run.number, settled: settled, unknownAt: unknownAt, isWanted: isWanted,
            in: run.queue)
    }

    // MARK: On failure

    private func keepingOnFailure(
        _ request: Request,
        _ draft: ReplayDraft,
        _ run: KeptRun,
        _ gate: JobGate
    ) async throws(ConnectionError) -> Response {
        let arrival = await Result { () async throws(ConnectionError) in
            try await unkeptResponse(to: request, for: run.caller.behind(gate.gate))
        }
        var error: ConnectionError
        let outcome: ReplayOutcome
        switch arrival {
        case .success(let response):
            outcome = self.outcome(of: response, request, gate)
            guard outcome.isWorthKeeping else { return response }
            error = ConnectionError(badStatus: response)
            error.attempts = response.attempts
        case .failure(let failure):
            error = failure
            guard !error.isGivenUp || gate.hasRefused else { throw error }
            // What the engine was closed over is not kept: nobody wants it.
            outcome = run.ticket.known(
                self.outcome(of: error, request, gate), of: run.number, settled: error.settledExchanges,
                isWanted: false)
            guard outcome.isWorthKeeping else { throw error }
        }
        guard run.records() else { throw .cancelled }
        throw try await handed(over: draft, request, error, outcome, run)
    }

    /// Why what has left already is not sent again, but is for review: what a durable one's row says.
    private func refusal(
        of draft: ReplayDraft, behind cutOff: ReplayRow.CutOff, at now: Int64
    ) -> ReplayOutcome? {
        guard let reason = cutOff.refusal(draft.reviewReason(of: cutOff.sentAt, at: now)) else { return nil }
        let message = "it may have been processed before, and a second time could do harm"
        return .failed(.unknown, code: reason.description, message: message)
    }

    /// - Returns: what the caller is told.
    private func handed(
        over draft: ReplayDraft,
        _ request: Request,
        _ error: ConnectionError,
        _ outcome: ReplayOutcome,
        _ run: KeptRun
    ) async throws(ConnectionError) -> ConnectionError {
        var draft = draft
        let unknownAt = run.ticket.unknownAt(besides: run.number)
        draft.history = ReplayDraft.History(error.attempts, outcome, unknownAt: unknownAt, in: run.queue)
        draft.history.draw = run.queue.clock.draw()
        do throws(ReplayError) {
            return ConnectionError(queued: try await run.ticket.hand(draft, to: run.queue), request, error)
        } catch let failure {
            // Two things went wrong, and the caller has to know both: nothing is kept.
            var error = error
            error.code = .cannotQueue
            error.message += "; and it could not be kept: \(failure.message)"
            throw error
        }
    }
}

extension ReplayDraft {
    /// The request as it is sent.
    fileprivate func sent() throws(ConnectionError) -> Request {
        do throws(RequestError) { return try Request(json: request) } catch { throw ConnectionError(error) }
    }
}

extension Result where Success == Response, Failure == ConnectionError {
    /// Whether a run has come to nothing yet: it has no place, or was cut off before an answer was here.
    ///
    /// - Parameter isGivenUp: whether it was cut off for good.
    fileprivate func isOpen(isGivenUp: Bool) -> Bool {
        guard case .failure(let error) = self else { return false }
        return error.isGivenUp && error.response == nil && !isGivenUp
    }
}
