#if Tools
import Diamond

/// An action on all jobs that match.
struct JobBulk {
    let action: ReplayAction
    let filter: JobFilter

    private static let pageSize = 500

    /// Returns the jobs that the action would change, and changes nothing.
    func preview(in queue: ReplayQueue) async throws(ReplayError) -> ReplayQueue.BulkResult {
        var filter = filter
        let states = filter.fields.states
        filter.fields.states = states.isEmpty ? action.allowedStates : states.intersection(action.allowedStates)
        guard !filter.fields.states.isEmpty else { return ReplayQueue.BulkResult() }
        guard filter.needsTest else { return try await queue.apply(action, to: filter.fields, isDryRun: true) }
        return try await preview(of: filter, in: queue)
    }

    /// Tests the jobs page by page, because only their ids are needed after that.
    private func preview(
        of filter: JobFilter, in queue: ReplayQueue
    ) async throws(ReplayError) -> ReplayQueue.BulkResult {
        var (result, page) = (ReplayQueue.BulkResult(), JobFilter.Page(end: 0, isMore: true))
        while page.isMore {
            page = try filter.page(in: queue, after: page.end, limit: Self.pageSize)
            let part = try await queue.apply(action, to: page.jobs.map(\.id), isDryRun: true).ofAllowed
            result.done += part.done
            result.refusals += part.refusals
        }
        return result
    }

    /// Applies the action to jobs of a preview.
    func apply(to ids: [ReplayJob.ID], in queue: ReplayQueue) async throws(ReplayError) -> ReplayQueue.BulkResult {
        try await queue.apply(action, to: ids).ofAllowed
    }
}

extension ReplayQueue.BulkResult {
    /// The result without the jobs whose states do not allow the action, and those that were deleted.
    fileprivate var ofAllowed: Self {
        var result = self
        result.refusals.removeAll { [.wrongState, .noJob].contains($0.error.code) }
        return result
    }
}
#endif
