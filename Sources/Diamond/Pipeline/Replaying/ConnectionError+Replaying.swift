/// The errors of requests with a replay policy.
extension ConnectionError {
    /// Whether the request was canceled or paused, or refused by the gate of its job.
    var isCancellation: Bool { code == .cancelled }

    /// Creates the error of a request that was canceled or paused while its job stays in the queue.
    init(canceledWithJob id: ReplayJob.ID, _ response: Result<Response, ConnectionError>) {
        self = .cancelled
        if case .failure(let error) = response, error.isCancellation { self = error }
        jobID = id
    }

    /// Runs `body`, and converts an error of the queue to the caller's error.
    static func queueing<Value>(
        _ body: () async throws(ReplayError) -> Value
    ) async throws(ConnectionError) -> Value {
        do throws(ReplayError) { return try await body() } catch {
            throw ConnectionError(
                error.code == .badRequest ? .badRequest : .cannotQueue, error.message, cause: error)
        }
    }

    /// Creates the error of a request that waits for other jobs, or for the server of the queue, and was not sent.
    init(queued id: ReplayJob.ID?, request: Request) {
        let message =
            switch id {
            case nil: "\(request) need not be sent any more"
            // It has spilled.
            case let id? where id < 0: "\(request) is queued here as job \(id) until the queue's server can be reached"
            case let id?: "\(request) is queued as job \(id), behind other jobs"
            }
        self.init(.queued, message)
        jobID = id
    }

    /// Creates the error of a request that expired before it could be sent.
    init(expired id: ReplayJob.ID, request: Request, after error: ConnectionError) {
        let message = "\(request) expired before it could be sent: redrive job \(id), or give it a longer expiry"
        self.init(.timedOut, message)
        attempts = error.attempts
        jobID = id
    }

    /// Creates the error of a request that has failed, and waits in the queue.
    init(queued id: ReplayJob.ID?, request: Request, after error: ConnectionError) {
        let state = id.map { "is queued as job \($0)" } ?? "need not be sent any more"
        self.init(.queued, "\(request) \(state): \(error.message)", cause: error)
        response = error.response
        attempts = error.attempts
        jobID = id
    }
}
