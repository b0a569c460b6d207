/// The sender of requests with a replay policy, for callers that wait for the response and for replayers.
///
/// A ``SendGate`` checks each exchange before it begins.
struct JobSender: Sendable {
    let pipeline: Pipeline

    /// Sends the request of an attempt for a replayer: once, whatever its retry policy says.
    func replay(_ attempt: JobAttempt) async -> SentRequest {
        var request = attempt.request
        let timeout = request.retry?.attemptTimeout ?? Self.replayTimeout
        request.retry = RetryPolicy(attempts: 1, attemptTimeout: timeout, statuses: statuses(of: request))
        return await send(attempt, request: request, for: Caller())
    }

    /// The attempt timeout of a replayed request that has none (River's `JobTimeoutDefault`).
    private static let replayTimeout = Duration.seconds(60)

    /// Sends the request of an attempt for a caller.
    ///
    /// - Parameter request: the request to send; `nil` for that of the attempt.
    func send(_ attempt: JobAttempt, request: Request? = nil, for caller: Caller) async -> SentRequest {
        var request = request ?? attempt.request
        request.replay = .never
        let gate = gate(for: attempt, request: request)
        let response = await Result { [request] () async throws(ConnectionError) in
            try await pipeline.directResponse(to: request, for: caller.with { $0.gate = gate })
        }
        return SentRequest(
            response: response,
            outcome: outcome(of: response, to: request, gate: gate, refusal: attempt.refusal),
            isRefused: gate.hasRefused)
    }

    private func gate(for attempt: JobAttempt, request: Request) -> SendGate {
        let isHarmless = retry(of: attempt.request).retriesUnsafeMethods
        return SendGate { isUnderWay in
            // Checked here, because another user may have signed in while the request waited for its permit.
            if attempt.isJob, let refusal = await refusal(of: request) {
                attempt.refuse(refusal)
                return false
            }
            return await attempt.begin(isUnderWay: isUnderWay, isHarmless: isHarmless)
        } onUnprocessed: {
            attempt.noteUnprocessed()
        } onBackoff: {
            attempt.pause()
        }
    }

    // MARK: The signed-in user

    /// Returns the reason why a job must not be sent while the current user is signed in; `nil` if it may. An
    /// interceptor may have access to the credentials of another user.
    private func refusal(of request: Request) async -> ReplayOutcome? {
        let environment = pipeline.environment
        guard let identity = request.identity, environment.provider != nil else { return nil }
        var anonymous = request
        anonymous.identity = nil
        do throws(ConnectionError) {
            // If no user is signed in, there are no credentials of another user. The request still fails if its own
            // secrets are missing.
            let current = try await environment.resolve(anonymous, within: pipeline.time.left(of: request)).identity
            guard let current, !current.isExactly(identity) else { return nil }
            let message = "the job's identity is not the one that is signed in"
            return .failed(.noCredential, code: "noCredential", message: message)
        } catch  where error.code == .noEngine {
            // The engine is being closed, so the job goes back to the queue.
            return .failed(.returned, code: error.code.description, message: error.message)
        } catch {
            let message = "the credential provider could not say who is signed in"
            return .failed(.unsent, code: "noCredential", message: message)
        }
    }

    // MARK: The outcome

    private func outcome(
        of response: Result<Response, ConnectionError>, to request: Request, gate: SendGate, refusal: ReplayOutcome?
    ) -> ReplayOutcome {
        let statuses = statuses(of: request)
        let isBehindRedirect = gate.isBehindRedirect
        switch response {
        case .success(let response):
            return ReplayOutcome(response, statuses: statuses, now: now, isBehindRedirect: isBehindRedirect)
        case .failure(let error):
            if let refusal, gate.hasRefused || !error.isCancellation {
                // The server that has redirected the request may have acted.
                return isBehindRedirect ? refusal.unknown : refusal
            }
            return ReplayOutcome(
                error, method: request.method, statuses: statuses, now: now,
                isReachable: pipeline.reachability.isReachable, isBehindRedirect: isBehindRedirect)
        }
    }

    /// The time that a date in `Retry-After` is compared with, if the response has no `Date`. It is the queue's time if
    /// the queue is open, because the wall clock may have been set.
    private var now: WallTime {
        pipeline.replays?.opened?.now().correctWall ?? pipeline.exchangeEnvironment.now()
    }

    private func retry(of request: Request) -> RetryPolicy { request.retry ?? pipeline.time.retry }

    private func statuses(of request: Request) -> Set<Int> { retry(of: request).statuses }
}
