/// Actions on many jobs.
extension ReplayQueue {
    /// The result of an action on many jobs.
    package struct BulkResult: Sendable {
        /// The jobs that the action changed.
        package var done: [ReplayJob.ID] = []
        /// The jobs that the action could not change, each with the error.
        package var refusals: [ReplayRefusal] = []

        package init() {}
    }

    private static let batchSize = Int(ReplayTable.batchSize)

    /// Applies an action to jobs.
    ///
    /// - Parameter isDryRun: whether all changes are undone.
    package func apply(
        _ action: ReplayAction,
        to ids: [ReplayJob.ID],
        isDryRun: Bool = false
    ) async throws(ReplayError) -> BulkResult {
        var result = BulkResult()
        for start in stride(from: 0, to: ids.count, by: Self.batchSize) {
            let part = Array(ids[start..<min(start + Self.batchSize, ids.count)])
            for (id, effect) in zip(part, try await storage.apply(action, to: part, isDryRun: isDryRun)) {
                if let error = effect.error(of: action, on: id) {
                    result.refusals.append(ReplayRefusal(id: id, error: error))
                } else {
                    result.done.append(id)
                }
            }
        }
        return result
    }

    /// Applies an action to all jobs that match a filter. Skips jobs whose state does not allow the action.
    ///
    /// - Parameter isDryRun: whether all changes are undone.
    package func apply(
        _ action: ReplayAction,
        to filter: ReplayFilter,
        isDryRun: Bool = false
    ) async throws(ReplayError) -> BulkResult {
        var result = BulkResult()
        var last: Int64 = 0
        while true {
            let ids = try storage.ids(filter, after: last, limit: Self.batchSize)
            guard let end = ids.last else { return result }
            let part = try await apply(action, to: ids, isDryRun: isDryRun)
            result.done += part.done
            result.refusals += part.refusals.filter { ![.wrongState, .noJob].contains($0.error.code) }
            last = end
        }
    }

    // MARK: Holds

    /// Adds a hold, and holds the jobs that it covers.
    ///
    /// - Parameters:
    ///   - isSignOut: whether the hold is that of an identity that signs out.
    ///   - isDryRun: whether all changes are undone.
    /// - Returns: the number of jobs that were not held before.
    @discardableResult
    package func apply(
        _ hold: ReplayHold,
        reason: String = "",
        isSignOut: Bool = false,
        isDryRun: Bool = false
    ) async throws(ReplayError) -> Int {
        try await storage.hold(hold, reason: reason, isSignOut: isSignOut, isDryRun: isDryRun)
    }

    /// Ends a hold, and releases its jobs that are not held by themselves or by another hold. For an identity, also
    /// releases jobs that wait for it to sign in.
    ///
    /// - Parameter isDryRun: whether all changes are undone.
    /// - Returns: the number of released jobs.
    package func end(_ hold: ReplayHold, isDryRun: Bool = false) async throws(ReplayError) -> Int {
        try await storage.release(hold, isDryRun: isDryRun)
    }

    /// Holds the jobs of an identity, and erases those that have ended, with their answers.
    ///
    /// Jobs that are being sent are erased when they have ended: by the next hourly maintenance, or when a queue is
    /// closed. Jobs that have ended and that open jobs need are not erased: they stop later jobs in strict order, or
    /// have an answer with the id that a job waits for.
    ///
    /// - Parameter discardsJobs: whether to erase all jobs of the identity, also those that wait or are being sent.
    ///   Then nothing is left to hold, and the hold ends.
    func signOut(_ identity: String, discardingJobs discardsJobs: Bool) async throws(ReplayError) {
        try await apply(.identity(identity), reason: "signed out", isSignOut: true)
        try await storage.eraseJobs(of: identity, discardingOpen: discardsJobs)
    }

    // MARK: Dry runs

    /// The effects that a claim would have.
    package struct ClaimPreview: Hashable, Sendable {
        /// The transitions, in the order of the claim.
        package var transitions: [ReplayTransition]
        /// The number of jobs that would still be ready: earlier jobs of their ordering keys come first, the limit is
        /// reached, or the queue is held.
        package var remaining: Int

        /// Creates a preview.
        package init(transitions: [ReplayTransition], remaining: Int) {
            self.transitions = transitions
            self.remaining = remaining
        }
    }

    /// Returns the effects that a claim would have now. Runs a claim, and undoes it.
    ///
    /// - Parameters:
    ///   - limit: the maximum number of jobs to claim.
    ///   - identities: the identities whose jobs are claimed.
    package func claimPreview(
        limit: Int,
        of identities: ReplaySelection.Identities = .all
    ) async throws(ReplayError) -> ClaimPreview {
        try await storage.inspection.claimPreview(limit, of: identities)
    }

    /// Returns the jobs that wait for their time, the earliest first.
    package func waiting(
        limit: Int,
        of identities: ReplaySelection.Identities = .all
    ) throws(ReplayError) -> [ReplayJob] {
        try storage.waiting(limit: limit, of: identities)
    }
}
