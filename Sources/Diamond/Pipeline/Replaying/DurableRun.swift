/// A run of a caller's request with a replay policy, from its admission to the queue to the response.
struct DurableRun: Sendable {
    let sender: JobSender
    let durable: DurableRequest
    let draft: DurableRequest.Draft
    /// The request of the draft, as it is sent.
    let request: Request
    let caller: Caller

    private var queue: ReplayQueue { draft.queue }

    /// Adds the request to the queue if its policy requires it, sends it, and waits for the response.
    ///
    /// - Throws: ``ConnectionError``; `queued` if the request is in the queue, and sent later.
    func response() async throws(ConnectionError) -> Response {
        let admission = try await ConnectionError.queueing { () async throws(ReplayError) in
            try await durable.admit(draft)
        }
        switch admission {
        case .claimed(let job): return try await response(to: job)
        case .queued(let id): throw ConnectionError(queued: id, request: request)
        case .unqueued: return try await responseOrJob()
        }
    }

    private func attempt(of subject: JobAttempt.Subject) -> JobAttempt {
        JobAttempt(of: subject, request, exchanges: durable.exchanges, in: queue)
    }

    /// Whether the run may write its result. If a pause has ended it, the next run sends the request again, with the
    /// same job.
    private func mayWriteResult() -> Bool { caller.run?.recordIfAllowed() != false }

    /// Whether the caller still waits for the response, and gets it whole. The outcome of a model's save is read from
    /// its job.
    private func isDelivered(_ sent: SentRequest) -> Bool {
        sent.isComplete && !sent.isCanceled && !draft.draft.policy.storesAnswer && caller.run?.isAwaited != false
    }

    // MARK: Durable

    private func response(to job: ReplayClaim) async throws(ConnectionError) -> Response {
        let attempt = attempt(of: .job(job))
        return try await queue.owner.runAttempt { isEndedByOwner in
            let sent = await sender.send(attempt, for: caller)
            let isReturned = isEndedByOwner()
            return await Result { () async throws(ConnectionError) in
                try await finish(job, attempt: attempt, sent: sent, isReturned: isReturned)
            }
        }.get()
    }

    /// Writes the result of the job, and returns the response for the caller.
    ///
    /// - Parameter isReturned: whether this process gives the job back, because its lease ends or its queue is closed.
    private func finish(
        _ job: ReplayClaim, attempt: JobAttempt, sent: SentRequest, isReturned: Bool
    ) async throws(ConnectionError) -> Response {
        guard !sent.isInterrupted || isReturned, mayWriteResult() else {
            // No result: a resumed connection continues with the same job, and a released one gives it back.
            await attempt.markUnsent(interruptedAnswer: sent.interruptedAnswer)
            throw ConnectionError(canceledWithJob: job.id, sent.response)
        }
        var result = attempt.known(sent.result(draft.draft.policy, in: queue), isWanted: !isReturned)
        result.isDelivered = isDelivered(sent)
        let state = await durable.finish(job, result: result, in: queue)
        // A caller that has canceled receives the cancellation, even if there was an answer.
        guard !sent.isCanceled || isReturned else {
            throw ConnectionError(canceledWithJob: job.id, sent.response)
        }
        guard state == .done || state == .dead else {
            // The identity was forgotten, with its jobs.
            let isErased = (try? queue.job(job.id) == nil) ?? false
            if state == nil, isErased { return try sent.response.get() }
            throw ConnectionError(queued: job.id, request: request, after: sent.failure)
        }
        if sent.isRefused { throw ConnectionError(expired: job.id, request: request, after: sent.failure) }
        return try sent.response.get()
    }

    // MARK: On failure

    /// Sends the request, and makes it a job if it fails.
    private func responseOrJob() async throws(ConnectionError) -> Response {
        let invalidations = sender.pipeline.invalidations
        let start = caller.run?.startedAt ?? invalidations.position
        let attempt = attempt(of: .draft(draft.draft))
        let sent = await sender.send(attempt, for: caller)
        // If the engine was closed meanwhile, the request is not queued.
        let result = attempt.known(sent.result(draft.draft.policy, in: queue), isWanted: false)
        guard !sent.isCanceled, result.outcome.isWorthQueueing else { return try sent.response.get() }
        guard mayWriteResult() else { throw .cancelled }
        let identity = draft.draft.identity
        throw try await enqueue(after: sent.failure, result: result) {
            invalidations.hasLogout(of: identity, since: start)
        }
    }

    /// Adds the failed request to the queue, unless its identity was forgotten meanwhile.
    ///
    /// - Returns: the error for the caller.
    private func enqueue(
        after error: ConnectionError, result: JobResult, unless isForgotten: @escaping @Sendable () -> Bool
    ) async throws(ConnectionError) -> ConnectionError {
        var failed = draft.draft
        failed.history = ReplayDraft.History(of: error.attempts, result: result, in: queue)
        do throws(ReplayError) {
            let id = try await durable.enqueue(failed, to: queue, unless: isForgotten)
            if id == nil, isForgotten() { return error }
            return ConnectionError(queued: id, request: request, after: error)
        } catch let failure {
            // The caller receives both failures, because the request is not in the queue.
            var error = error
            error.code = .cannotQueue
            error.message += "; and the request could not be queued: \(failure.message)"
            throw error
        }
    }
}
