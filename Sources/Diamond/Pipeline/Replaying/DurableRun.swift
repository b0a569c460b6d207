/// One run of a caller's kept request, from its place in the queue to the response.
struct DurableRun: Sendable {
    let sender: JobSender
    let durable: DurableRequest
    let draft: DurableRequest.Draft
    /// The request of the draft, as it is sent.
    let request: Request
    let caller: Caller

    private var queue: ReplayQueue { draft.queue }

    /// - Throws: ``ConnectionError``; `queued` if the request is kept, and sent later.
    func response() async throws(ConnectionError) -> Response {
        let place = try await ConnectionError.queueing { () async throws(ReplayError) in
            try await durable.place(draft)
        }
        switch place {
        case .claimed(let job): return try await response(to: job)
        case .queued(let id): throw ConnectionError(queued: id, request)
        case .unqueued: return try await responseOrJob()
        }
    }

    private func attempt(of subject: JobAttempt.Subject) -> JobAttempt {
        JobAttempt(of: subject, request, exchanges: durable.exchanges, in: queue)
    }

    /// Whether the run may write its result. If a pause has given it up, the next run sends the request again, with the same job.
    private func records() -> Bool { caller.run?.mayRecord() != false }

    // MARK: Durable

    private func response(to job: ReplayTable.Claimed) async throws(ConnectionError) -> Response {
        let attempt = attempt(of: .job(job))
        return try await queue.owner.attempt { isGivenUp in
            let sent = await sender.send(attempt, for: caller)
            let isReturned = isGivenUp()
            return await Result { () async throws(ConnectionError) in
                try await response(of: sent, to: job, attempt, isReturned: isReturned)
            }
        }.get()
    }

    /// - Parameter isReturned: whether this process gives the job back, because its lease or its queue ends.
    private func response(
        of sent: SentRequest, to job: ReplayTable.Claimed, _ attempt: JobAttempt, isReturned: Bool
    ) async throws(ConnectionError) -> Response {
        guard !sent.isInterrupted || isReturned, records() else {
            // Not settled: a resumed connection continues with the same job, and a released one gives it back.
            await attempt.giveUp(interrupting: sent.interruptedAnswer)
            throw ConnectionError(leaving: job.id, sent.response)
        }
        let result = attempt.known(sent.result(draft.draft.policy, in: queue), isWanted: !isReturned)
        let state = await durable.settle(job, result, in: queue)
        // A caller that has gone away is told so, though there was an answer.
        guard !sent.isGivenUp || isReturned else { throw ConnectionError(leaving: job.id, sent.response) }
        guard state == .done || state == .dead else { throw ConnectionError(queued: job.id, request, sent.failure) }
        if sent.isRefused { throw ConnectionError(expired: job.id, request, sent.failure) }
        return try sent.response.get()
    }

    // MARK: On failure

    /// Sends the request, and makes it a job if it fails.
    private func responseOrJob() async throws(ConnectionError) -> Response {
        let attempt = attempt(of: .draft(draft.draft))
        let sent = await sender.send(attempt, for: caller)
        // If the engine was closed meanwhile, nobody wants the request any more, and it is not kept.
        let result = attempt.known(sent.result(draft.draft.policy, in: queue), isWanted: false)
        guard !sent.isGivenUp, result.outcome.isWorthKeeping else { return try sent.response.get() }
        guard records() else { throw .cancelled }
        throw try await enqueued(after: sent.failure, result)
    }

    /// - Returns: the error for the caller.
    private func enqueued(
        after error: ConnectionError, _ result: JobResult
    ) async throws(ConnectionError) -> ConnectionError {
        var failed = draft.draft
        failed.history = ReplayDraft.History(error.attempts, result, in: queue)
        do throws(ReplayError) {
            return ConnectionError(queued: try await durable.enqueue(failed, to: queue), request, error)
        } catch let failure {
            // Two things went wrong, and the caller has to know both: nothing is kept.
            var error = error
            error.code = .cannotQueue
            error.message += "; and it could not be kept: \(failure.message)"
            throw error
        }
    }
}
