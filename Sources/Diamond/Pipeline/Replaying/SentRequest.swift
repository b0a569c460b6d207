/// The result of sending a kept request.
struct SentRequest: Sendable {
    let response: Result<Response, ConnectionError>
    /// The meaning of the response for the job.
    let outcome: ReplayOutcome
    /// Whether the gate has ended the request.
    let isRefused: Bool

    private var error: ConnectionError? { if case .failure(let error) = response { error } else { nil } }

    /// Whether the request was canceled or paused, or its job was returned to the queue.
    var isGivenUp: Bool { !isRefused && error?.isGivenUp ?? false }

    /// Whether it was given up before its response was complete.
    var isInterrupted: Bool { isGivenUp && error?.response == nil }

    /// The outcome of the response, if the request was given up while the body arrived.
    var interruptedAnswer: ReplayOutcome? { error?.head.value == nil ? nil : outcome }

    /// The error, or a response that is as good as one.
    var failure: ConnectionError {
        switch response {
        case .success(let response):
            var error = ConnectionError(badStatus: response)
            error.attempts = response.attempts
            return error
        case .failure(let error): return error
        }
    }

    /// - Parameters:
    ///   - policy: says whether the answer is stored with the job.
    ///   - notify: as ``JobResult/notify``.
    func result(
        _ policy: ReplayPolicy, in queue: ReplayQueue,
        notify: @escaping @Sendable (ReplayState?) async -> Void = { _ in }
    ) -> JobResult {
        JobResult(
            outcome: outcome,
            settled: error?.settledExchanges ?? 0,
            unknownAt: failure.attempts.unknownAt.map { queue.time(ofWall: $0) },
            keeping: policy.keepsAnswer ? ReplayAnswer(response) : nil,
            notify: notify
        )
    }
}

extension ConnectionError {
    /// The number of exchanges that the meaning of the error does not depend on: those that another has repeated; if the request
    /// was given up, those that failed and were certainly not processed.
    fileprivate var settledExchanges: Int {
        guard isGivenUp else { return max(0, attempts.count - 1) }
        return attempts.count { $0.reason != nil && !$0.mayHaveArrived }
    }
}
