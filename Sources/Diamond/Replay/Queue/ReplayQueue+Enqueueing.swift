public import Foundation

/// Adding jobs.
extension ReplayQueue {
    /// Adds a request to the queue. It is sent by the rules of its ``Request/replay`` policy. The policy's mode is
    /// ignored.
    ///
    /// - Parameters:
    ///   - request: the request to send. Its secrets have to be named.
    ///   - delay: the minimum wait before the request is sent.
    /// - Returns: the id of the new job. If an older job with the same unique name stays, or the request replaces its
    ///   request or is merged into it, the id of that job. `nil` if nothing has to be sent any more
    ///   (``ReplayPolicy/Uniqueness/merge``).
    /// - Throws: ``ReplayError``; then nothing was added.
    @discardableResult
    @concurrent
    public func enqueue(_ request: Request, after delay: Duration = .zero) async throws(ReplayError) -> ReplayJob.ID? {
        try await enqueue([request], after: delay)[0]
    }

    /// Adds a request that is not sent before `date`. The wait is the time from now until `date` by the wall clock. If
    /// the wall clock is set meanwhile, the wait stays the same.
    @discardableResult
    @concurrent
    public func enqueue(_ request: Request, at date: Date) async throws(ReplayError) -> ReplayJob.ID? {
        try await add([try await draft(of: request, at: moment().time(ofWall: WallTime(date)))])[0]
    }

    /// Adds all requests, in their order, or none.
    ///
    /// - Returns: for each request, the result of ``enqueue(_:after:)``.
    @discardableResult
    @concurrent
    public func enqueue(
        _ requests: [Request],
        after delay: Duration = .zero
    ) async throws(ReplayError) -> [ReplayJob.ID?] {
        let time = try delay > .zero ? moment().time + delay.bounded : nil
        var drafts: [ReplayDraft] = []
        for request in requests { drafts.append(try await draft(of: request, at: time)) }
        return try await add(drafts)
    }

    func draft(of request: Request, at time: QueueTime? = nil) async throws(ReplayError) -> ReplayDraft {
        let resolved: Request
        do { resolved = try await resolve(request) } catch {
            throw ReplayError(.badRequest, "\(error)")
        }
        var draft = try ReplayDraft(resolved, rules: rules, freshKey: UUID().uuidString)
        draft.runAt = time
        return draft
    }

    /// Whether a job has to be sent before a request. `false` without a read if the request has neither an ordering key
    /// nor a unique name.
    func isPreceded(_ draft: ReplayDraft) async throws(ReplayError) -> Bool {
        guard draft.policy.orderingKey != nil || draft.policy.unique != nil else { return false }
        return try await storage.isPreceded(draft)
    }

    /// Adds all drafts, in their order, or none.
    ///
    /// - Parameter isWanted: called with the ids of the jobs before the transaction is committed. If it returns
    ///   `false`, nothing is added or changed.
    /// - Returns: the ids of the jobs; `nil` if nothing has to be sent. All are `nil` if the jobs are not wanted.
    func add(
        _ drafts: [ReplayDraft],
        isWanted: (@Sendable ([ReplayJob.ID?]) -> Bool)? = nil
    ) async throws(ReplayError) -> [ReplayJob.ID?] {
        let entry = ReplayEntry(drafts, maximumCount: maximumCount, rules: rules)
        let added = try await storage.enqueue(entry, isWanted: isWanted)
        reportUnsentJobs()
        return added.ids
    }

    /// Adds a request that this process sends at once, unless another job has to be sent before it. If the job is
    /// claimed, the ``owner`` is entered, and the caller has to leave it after it has written the outcome.
    ///
    /// - Parameter isWanted: called with the id of the job before the transaction is committed. If it returns `false`,
    ///   nothing is added or changed.
    func addClaimed(
        _ draft: ReplayDraft,
        isWanted: @escaping @Sendable (ReplayJob.ID?) -> Bool
    ) async throws(ReplayError) -> DurableRequest.Admission {
        let spill = storage as? SpillingReplayStorage
        // No owner can claim a job that spills.
        if spill?.isSpilling == true { return try await addUnclaimed(draft, isWanted: isWanted) }
        let me: ReplayOwnerRecord.ID
        do throws(ReplayError) { me = try await owner.enter() } catch {
            // A closed queue sends nothing, but still stores the request. So does one whose jobs can spill.
            guard error.code == .closed || (spill != nil && error.mayBeUnreachable) else { throw error }
            if error.code == .unreachable { spill?.spillNext() }
            return try await addUnclaimed(draft, isWanted: isWanted)
        }
        do throws(ReplayError) {
            let entry = ReplayEntry([draft], maximumCount: maximumCount, rules: rules, owner: me)
            let added = try await storage.enqueue(entry) { isWanted($0[0]) }
            // The next request registers a new owner.
            if !added.isOwnerAlive { owner.dropOwner(me) }
            reportUnsentJobs()
            if let claim = added.claim { return .claimed(claim) }
            owner.leave()
            return .queued(added.ids[0])
        } catch {
            owner.leave()
            throw error
        }
    }

    private func addUnclaimed(
        _ draft: ReplayDraft, isWanted: @escaping @Sendable (ReplayJob.ID?) -> Bool
    ) async throws(ReplayError) -> DurableRequest.Admission {
        .queued(try await add([draft]) { isWanted($0[0]) }[0])
    }
}
