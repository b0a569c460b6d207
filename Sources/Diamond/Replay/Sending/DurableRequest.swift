import DiamondSQLite

/// A caller's request with a replay policy: its draft, and its job while this process sends it. A connection that is
/// paused and resumed has one for all its runs.
///
/// If the outcome of the job was not written when the instance is released, the job goes back to the queue.
final class DurableRequest: Sendable {
    /// The draft, and the queue that it is for.
    struct Draft: Sendable {
        let queue: ReplayQueue
        let draft: ReplayDraft
    }

    /// The decision about the request before its first byte is sent.
    enum Admission: Sendable {
        /// The request is a job that this process has claimed, and sends.
        case claimed(ReplayClaim)
        /// The request is a job that waits for other jobs, or was merged into an older job with its unique name; `nil`
        /// if nothing has to be sent.
        case queued(ReplayJob.ID?)
        /// The request is no job, and becomes one if it fails.
        case unqueued
    }

    private struct State {
        var draft: Draft?
        var job: ReplayClaim?
        /// The id of the request's job, whichever process sends it.
        var jobID: ReplayJob.ID?
        var isCanceled = false
        var admission: Task<Result<Admission, ReplayError>, Never>?
    }

    /// The exchanges of all runs.
    let exchanges = Guarded(SentExchanges())
    private let state = Guarded(State())
    /// Called when the request is on disk as a job.
    private let whenQueued: @Sendable () -> Void

    init(whenQueued: @escaping @Sendable () -> Void = {}) { self.whenQueued = whenQueued }

    deinit {
        let left = state.withLock { $0 }
        guard let queue = left.draft?.queue, let job = left.job else { return }
        let (answer, unknownSince) = exchanges.withLock { ($0.interruptedAnswer, $0.unknownSince()) }
        let outcome = answer ?? (unknownSince == nil ? .notBegun : .interrupted)
        Task { await queue.finishAndLeave(job, result: JobResult(outcome: outcome, unknownSince: unknownSince)) }
    }

    // MARK: The draft

    /// The draft; `nil` before the first run has made it.
    var draft: Draft? { state.withLock { $0.draft } }

    /// Returns the draft, which is made once for all runs.
    func draft(of request: Request, for queue: ReplayQueue) async throws(ReplayError) -> Draft {
        let draft = Draft(queue: queue, draft: try await queue.draft(of: request))
        return state.withLock { state in
            // A run that a pause has ended may still be making a draft while the next run makes one. Both send the
            // first draft.
            let first = state.draft ?? draft
            state.draft = first
            return first
        }
    }

    // MARK: The job

    /// Adds the draft to the queue as a job that this process sends. A request that is queued on failure only is not
    /// added if no other job has to be sent before it.
    ///
    /// The decision is made once for all runs, even if a pause ends the run that makes it. A job that a later run added
    /// would not have the exchanges of an earlier run.
    func admit(_ draft: Draft) async throws(ReplayError) -> Admission {
        let admission = state.withLock { state in
            let admission = state.admission ?? Task { await decideAdmission(of: draft) }
            state.admission = admission
            return admission
        }
        return try await admission.value.get()
    }

    private func decideAdmission(of draft: Draft) async -> Result<Admission, ReplayError> {
        let queue = draft.queue
        let draft = draft.draft
        do throws(ReplayError) {
            if draft.policy.mode != .durable, try await !queue.isPreceded(draft) { return .success(.unqueued) }
            let admission = try await queue.addClaimed(draft) { [self] in note($0) }
            if case .claimed(let job) = admission { state.withLock { $0.job = job } }
            whenQueued()
            return .success(admission)
        } catch {
            state.withLock { state in
                state.admission = nil
                state.jobID = nil
            }
            return .failure(error)
        }
    }

    /// Adds a draft that has failed to the queue.
    ///
    /// - Parameter isForgotten: called in the transaction. If it returns `true`, because the identity has signed out
    ///   meanwhile, nothing is added.
    /// - Returns: the result of ``ReplayQueue/enqueue(_:after:)``.
    func enqueue(
        _ draft: ReplayDraft, to queue: ReplayQueue, unless isForgotten: @escaping @Sendable () -> Bool
    ) async throws(ReplayError) -> ReplayJob.ID? {
        do throws(ReplayError) {
            return try await queue.add([draft]) { [self] in !isForgotten() && note($0[0]) }[0]
        } catch {
            state.withLock { $0.jobID = nil }
            throw error
        }
    }

    /// Notes the id of the job in the transaction that adds it. A caller that cancels later receives the id, and can
    /// discard the job. If the caller has canceled before, no job is added.
    ///
    /// - Returns: whether the job is to be added.
    private func note(_ id: ReplayJob.ID?) -> Bool {
        state.withLock { state in
            // A transaction may run twice. If the caller received the id in the first run, the job is still added.
            guard !state.isCanceled || state.jobID != nil else { return false }
            state.jobID = id
            return true
        }
    }

    /// Notes that the caller no longer waits for the request.
    ///
    /// - Returns: the id of the request's job; `nil` if there is none. Then no job is added later.
    func cancel() -> ReplayJob.ID? {
        state.withLock { state in
            state.isCanceled = true
            return state.jobID
        }
    }

    /// The id of the request's job; `nil` if there is none.
    var jobID: ReplayJob.ID? { state.withLock { $0.jobID } }

    /// Writes the result of the job's last run.
    ///
    /// - Returns: the job's new state; `nil` if another owner has it, or its outcome is not on disk yet.
    func finish(_ job: ReplayClaim, result: JobResult, in queue: ReplayQueue) async -> ReplayState? {
        state.withLock { $0.job = nil }
        return await queue.finishAndLeave(job, result: result)
    }
}

extension ReplayQueue {
    /// Writes the result of a job that was added with ``addClaimed(_:isWanted:)``, and leaves the owner.
    ///
    /// - Returns: the job's new state; `nil` if another owner has it, or its outcome is not on disk yet.
    @discardableResult
    fileprivate func finishAndLeave(_ job: ReplayClaim, result: JobResult) async -> ReplayState? {
        let isDelivered = Guarded(result.isDelivered)
        let state = await TimeLimit(clock.endTimeout).value { [self] in
            defer { owner.leave() }
            return await finish(
                job, outcome: result.outcome, answer: result.answer, unknownSince: result.unknownSince,
                isDelivered: { isDelivered.withLock { $0 } })
        }
        // The caller has waited too long, and gets the error `queued`.
        if state == nil { isDelivered.withLock { $0 = false } }
        return state ?? nil
    }
}

extension ReplayOutcome {
    /// The outcome of a request that was canceled after an exchange had begun.
    static let interrupted = failed(.interrupted, code: "cancelled", message: "it was canceled while it was being sent")
}
