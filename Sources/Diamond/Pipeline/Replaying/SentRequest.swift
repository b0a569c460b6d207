/// The result of sending a request with a replay policy.
struct SentRequest: Sendable {
    let response: Result<Response, ConnectionError>
    /// The meaning of the response for the job.
    let outcome: ReplayOutcome
    /// Whether the gate refused the request.
    let isRefused: Bool

    private var error: ConnectionError? { if case .failure(let error) = response { error } else { nil } }

    /// Whether the request was canceled or paused, or its job was returned to the queue.
    var isCanceled: Bool { !isRefused && error?.isCancellation ?? false }

    /// Whether the request was canceled before its response was complete.
    var isInterrupted: Bool { isCanceled && error?.response == nil }

    /// Whether the caller gets the whole response, or an error that says as much as the job.
    var isComplete: Bool {
        guard let error else { return true }
        if case .failed(.unsendable, _, _) = outcome { return true }
        return error.response != nil
    }

    /// The outcome of the response, if the request was canceled while the body arrived.
    var interruptedAnswer: ReplayOutcome? { error?.head.value == nil ? nil : outcome }

    /// The error, or the response as a `badStatus` error.
    var failure: ConnectionError {
        switch response {
        case .success(let response):
            var error = ConnectionError(badStatus: response)
            error.attempts = response.attempts
            return error
        case .failure(let error): return error
        }
    }

    /// Returns the result for the job.
    ///
    /// - Parameters:
    ///   - policy: the policy of the request. It decides whether the queue needs the answer.
    ///   - notify: the function for ``JobResult/notify``.
    func result(
        _ policy: ReplayPolicy, in queue: ReplayQueue,
        notify: @escaping @Sendable (ReplayState?) async -> Void = { _ in }
    ) -> JobResult {
        JobResult(
            outcome: outcome,
            ignoredExchanges: error?.ignoredExchanges ?? 0,
            unknownSince: failure.attempts.unknownSince.map { queue.time(ofWall: $0) },
            answer: policy.needsAnswer ? ReplayAnswer(response, hiding: FieldSecrets(own: queue.rules.own)) : nil,
            notify: notify
        )
    }
}

extension ConnectionError {
    /// The number of exchanges that do not affect the meaning of the error: those that another one has repeated. If the
    /// request was canceled: those that failed and were certainly not processed.
    fileprivate var ignoredExchanges: Int {
        guard isCancellation else { return max(0, attempts.count - 1) }
        return attempts.count { $0.reason != nil && !$0.serverMayHaveActed }
    }
}
