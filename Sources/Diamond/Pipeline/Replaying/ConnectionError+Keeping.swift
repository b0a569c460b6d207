/// The errors of kept requests.
extension ConnectionError {
    /// Whether the request was given up: canceled or paused, or refused by the gate of its job.
    var isGivenUp: Bool { code == .cancelled }

    /// The request was given up; its job stays.
    init(leaving id: ReplayJob.ID, _ arrival: Result<Response, ConnectionError>) {
        self = .cancelled
        if case .failure(let error) = arrival, error.isGivenUp { self = error }
        jobID = id
    }

    /// Runs `body`, and throws the error of the queue as the caller gets it.
    static func queueing<Value>(
        _ body: () async throws(ReplayError) -> Value
    ) async throws(ConnectionError) -> Value {
        do throws(ReplayError) { return try await body() } catch {
            throw ConnectionError(
                error.code == .badRequest ? .badRequest : .cannotQueue, error.message, cause: error)
        }
    }

    /// The request waits behind other jobs, and was not sent.
    init(queued id: ReplayJob.ID?, _ request: Request) {
        let message = id.map { "\(request) is kept as job \($0), behind others" } ?? "\(request) has to be sent no more"
        self.init(.queued, message)
        jobID = id
    }

    /// The time that the policy allows was over before the request could be sent.
    init(expired id: ReplayJob.ID, _ request: Request, _ error: ConnectionError) {
        let message = "the time of \(request) was over before it could be sent: redrive job \(id), or allow it more"
        self.init(.timedOut, message)
        (attempts, jobID) = (error.attempts, id)
    }

    /// The request has failed, and waits in the queue.
    init(queued id: ReplayJob.ID?, _ request: Request, _ error: ConnectionError) {
        let kept = id.map { "is kept as job \($0)" } ?? "has to be sent no more"
        self.init(.queued, "\(request) \(kept): \(error.message)", cause: error)
        (response, attempts, jobID) = (error.response, error.attempts, id)
    }
}
