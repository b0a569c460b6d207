import DiamondSQLite

/// A kept request of one caller: its draft, and its job while this process sends it. A connection that is paused and resumed
/// has one for all its runs.
///
/// A job that is not settled when this is released goes back to the queue.
final class DurableRequest: Sendable {
    /// The draft, and the queue that it is for.
    struct Draft: Sendable {
        let queue: ReplayQueue
        let draft: ReplayDraft
    }

    /// The place of the request before its first byte is sent.
    enum Place: Sendable {
        /// The request is a job that this process has claimed, and sends.
        case claimed(ReplayTable.Claimed)
        /// The request is a job behind others, or was merged into an older job of its unique name; `nil` if nothing has to be
        /// sent.
        case queued(ReplayJob.ID?)
        /// The request is no job, and becomes one if it fails.
        case unqueued
    }

    private struct State {
        var draft: Draft?
        var job: ReplayTable.Claimed?
        /// The id of the job that keeps the request, whichever process sends it.
        var jobID: ReplayJob.ID?
        var isCanceled = false
        var placing: Task<Result<Place, ReplayError>, Never>?
    }

    /// The exchanges of all runs.
    let exchanges = Guarded(SentExchanges())
    private let state = Guarded(State())
    /// Called when the request is on disk as a job.
    private let whenKept: @Sendable () -> Void

    init(whenKept: @escaping @Sendable () -> Void = {}) { self.whenKept = whenKept }

    deinit {
        let left = state.withLock { $0 }
        guard let queue = left.draft?.queue, let job = left.job else { return }
        let (answer, unknownAt) = exchanges.withLock { ($0.interruptedAnswer, $0.unknownAt()) }
        let outcome = answer ?? (unknownAt == nil ? .notBegun : .interrupted)
        Task { await queue.settle(job, JobResult(outcome: outcome, unknownAt: unknownAt)) }
    }

    // MARK: The draft

    var draft: Draft? { state.withLock { $0.draft } }

    /// Makes the draft, once for all runs.
    func draft(of request: Request, for queue: ReplayQueue) async throws(ReplayError) -> Draft {
        let draft = Draft(queue: queue, draft: try await queue.draft(of: request))
        return state.withLock { state in
            // Two runs, one of which a pause has given up, send the same.
            let first = state.draft ?? draft
            state.draft = first
            return first
        }
    }

    // MARK: The job

    /// Makes the draft a job that this process sends, unless it is kept on failure only, and nothing is to be sent before it.
    ///
    /// Decided once for all runs, also if a pause gives up the run that does it: a job that a later run makes would know
    /// nothing of what an earlier one has sent.
    func place(_ draft: Draft) async throws(ReplayError) -> Place {
        let placing = state.withLock { state in
            let placing = state.placing ?? Task { await placed(draft) }
            state.placing = placing
            return placing
        }
        return try await placing.value.get()
    }

    private func placed(_ draft: Draft) async -> Result<Place, ReplayError> {
        let (queue, draft) = (draft.queue, draft.draft)
        do throws(ReplayError) {
            if draft.policy.mode != .durable, try !queue.isPreceded(draft) { return .success(.unqueued) }
            let place = try await queue.addClaimed(draft) { [self] in note($0) }
            if case .claimed(let job) = place { state.withLock { $0.job = job } }
            whenKept()
            return .success(place)
        } catch {
            state.withLock { state in
                state.placing = nil
                state.jobID = nil
            }
            return .failure(error)
        }
    }

    /// Makes a draft that has failed a job for later.
    ///
    /// - Returns: as ``ReplayQueue/enqueue(_:after:)`` does.
    func enqueue(_ draft: ReplayDraft, to queue: ReplayQueue) async throws(ReplayError) -> ReplayJob.ID? {
        do throws(ReplayError) {
            return try await queue.add([draft]) { [self] in note($0[0]) }[0]
        } catch {
            state.withLock { $0.jobID = nil }
            throw error
        }
    }

    /// Called in the transaction that adds the job: a caller that cancels later is told of the job, and can discard it; one that
    /// has canceled before leaves none.
    ///
    /// - Returns: whether it is to be added.
    private func note(_ id: ReplayJob.ID?) -> Bool {
        state.withLock { state in
            // A transaction may be done again: a caller that was told of the job finds it.
            guard !state.isCanceled || state.jobID != nil else { return false }
            state.jobID = id
            return true
        }
    }

    /// Notes that the caller does not wait for the request any more.
    ///
    /// - Returns: the id of the job that keeps the request; if there is none, there will be none.
    func cancel() -> ReplayJob.ID? {
        state.withLock { state in
            state.isCanceled = true
            return state.jobID
        }
    }

    /// The id of the job that keeps the request.
    var jobID: ReplayJob.ID? { state.withLock { $0.jobID } }

    /// Writes the result of the job's last run.
    ///
    /// - Returns: the job's new state; `nil` if another owner has it, or its outcome is not on disk yet.
    func settle(_ job: ReplayTable.Claimed, _ result: JobResult, in queue: ReplayQueue) async -> ReplayState? {
        state.withLock { $0.job = nil }
        return await queue.settle(job, result)
    }
}

extension ReplayQueue {
    /// Writes the result of a job that was added with ``addClaimed(_:isWanted:)``, and leaves the owner.
    ///
    /// - Returns: the job's new state; `nil` if another owner has it, or its outcome is not on disk yet.
    @discardableResult
    fileprivate func settle(_ job: ReplayTable.Claimed, _ result: JobResult) async -> ReplayState? {
        let state = await Deadline.value(within: clock.patience) { [self] in
            defer { owner.leave() }
            return await finish(job, result.outcome, keeping: result.answer, unknownAt: result.unknownAt)
        }
        return state ?? nil
    }
}

extension ReplayOutcome {
    static let interrupted = failed(.interrupted, code: "cancelled", message: "it was canceled when it was under way")
}
