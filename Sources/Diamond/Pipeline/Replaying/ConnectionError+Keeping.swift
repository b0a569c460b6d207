/// What whoever has sent a request that is kept is told.
extension ConnectionError {
    /// Whether the request was given up: its caller, its engine or a pause has ended it, or the gate of its job.
    var isGivenUp: Bool { [.cancelled, .parked].contains(code) }

    /// What whoever has gone away is told, or nobody.
    init(leaving id: ReplayJob.ID, _ arrival: Result<Response, ConnectionError>) {
        self = .cancelled
        if case .failure(let error) = arrival, error.isGivenUp { self = error }
        jobID = id
    }

    init(cannotQueue error: ReplayError) {
        self.init(error.code == .badRequest ? .badRequest : .cannotQueue, error.message, cause: error)
    }

    /// Nothing was sent yet.
    init(queued id: ReplayJob.ID?, _ request: Request) {
        let message = id.map { "\(request) is kept as job \($0), behind others" } ?? "\(request) has to be sent no more"
        self.init(.queued, message)
        jobID = id
    }

    /// Its time was over before it could leave.
    init(expired id: ReplayJob.ID, _ request: Request, _ error: ConnectionError) {
        let message = "the time of \(request) was over before it could be sent: redrive job \(id), or allow it more"
        self.init(.timedOut, message)
        (attempts, jobID) = (error.attempts, id)
    }

    init(queued id: ReplayJob.ID, _ request: Request, _ response: Response) {
        self.init(queued: id, request, ConnectionError(badStatus: response))
    }

    init(queued id: ReplayJob.ID?, _ request: Request, _ error: ConnectionError) {
        let kept = id.map { "is kept as job \($0)" } ?? "has to be sent no more"
        self.init(.queued, "\(request) \(kept): \(error.message)", cause: error)
        (response, attempts, jobID) = (error.response, error.attempts, id)
    }
}
