#if Tools
import Diamond

/// The request of a job that was sent, as a new job.
struct JobResend {
    let id: ReplayJob.ID
    /// The options that select the queue for another command, each after a space.
    let options: String

    /// Adds the request once more. The new job has an idempotency key of its own, so that the server processes it
    /// again.
    ///
    /// - Returns: The id of the new job, or of the job that has its unique name already; `nil` if merging with that one
    ///   leaves nothing to send.
    func apply(in queue: ReplayQueue) async throws(ReplayError) -> ReplayJob.ID? {
        guard let job = try queue.job(id) else { throw ReplayError.noJob(id) }
        guard job.state == .done else {
            let advice = job.state.isEnd ? "redrive" : "retry"
            throw ReplayError(
                .wrongState,
                "job \(id) is \(job.state), and only a job that is done is added again: "
                    + "'cachectl queue \(advice) \(id)\(options)' sends it")
        }
        guard let request = try queue.request(of: id) else {
            throw ReplayError(.badRequest, "job \(id) has no request any more")
        }
        return try await queue.enqueue(request)
    }
}
#endif
