extension ReplayQueue {
    /// Adds a request that this process sends at once, unless another job has to be sent before it. If the job is
    /// claimed, the ``owner`` is entered, and the caller has to leave it after it has written the outcome.
    ///
    /// - Parameter isWanted: called with the id of the job before the transaction is committed. If it returns `false`,
    ///   nothing is added or changed.
    func addClaimed(
        _ draft: ReplayDraft,
        isWanted: @escaping @Sendable (ReplayJob.ID?) -> Bool
    ) async throws(ReplayError) -> DurableRequest.Admission {
        let me: ReplayOwnerRecord.ID
        do throws(ReplayError) { me = try await owner.enter() } catch {
            // A closed queue sends nothing, but still stores the request.
            guard error.code == .closed else { throw error }
            return .queued(try await add([draft]) { isWanted($0[0]) }[0])
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
}
