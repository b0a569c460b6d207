#if Tools
import Diamond

/// The request of a job that was sent, as a new job.
struct JobResend {
    let id: ReplayJob.ID
    /// The options that select the queue for another command, each after a space.
    let options: String

    /// Adds the request once more, with an idempotency key of its own, so that the server processes it again. Replaces
    /// no job that waits.
    ///
    /// - Returns: The id of the new job.
    func apply(in queue: ReplayQueue) async throws(ReplayError) -> ReplayJob.ID {
        guard let job = try queue.job(id) else { throw ReplayError.noJob(id) }
        guard job.state == .done else {
            let advice = job.state.isEnd ? "redrive" : "retry"
            throw ReplayError(
                .wrongState,
                "job \(id) is \(job.state), and only a job that is done is added again: "
                    + "'cachectl queue \(advice) \(id)\(options)' sends it")
        }
        guard var request = try queue.request(of: id) else {
            throw ReplayError(.badRequest, "job \(id) has no request any more")
        }
        request.headers[.idempotencyKey] = nil
        request.replay.uniqueness = .keep
        let last = try queue.lastID()
        guard let new = try await queue.enqueue(request), new > last else {
            throw ReplayError(.notUnique, "another job has the unique name of job \(id), and is not sent yet")
        }
        return new
    }
}
#endif
