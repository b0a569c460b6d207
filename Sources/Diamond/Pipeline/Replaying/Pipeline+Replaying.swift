/// Sending what was kept: what came of it, and whose it is.
extension Pipeline {
    // MARK: Sending

    /// Sends a job's request, once.
    ///
    /// - Returns: also how many exchanges count no more (``Replayer/Sent``).
    func replay(_ sending: Replayer.Sending) async -> (
        outcome: ReplayOutcome, settled: Int, response: Result<Response, ConnectionError>
    ) {
        var request = sending.request
        let statuses = statuses(of: request)
        let limit = request.retry?.attemptTimeout ?? Self.replayTimeout
        (request.replay, request.retry) = (.never, RetryPolicy(attempts: 1, attemptTimeout: limit, statuses: statuses))
        let gate = gate(for: request) { _ in await sending.begin() }
        do throws(ConnectionError) {
            let response = try await unkeptResponse(to: request, for: Caller().behind(gate.gate))
            return (outcome(of: response, request, gate), 0, .success(response))
        } catch {
            return (outcome(of: error, request, gate), error.settledExchanges, .failure(error))
        }
    }

    /// Of an attempt whose request says nothing (River's `JobTimeoutDefault`).
    private static let replayTimeout = Duration.seconds(60)

    // MARK: Whose

    /// What a job's request has to pass before it leaves. Whose it is is asked last of all: who is signed in may have changed
    /// while it waited for its place.
    func gate(
        for request: Request,
        open: @escaping @Sendable (_ isUnderWay: Bool) async -> Bool,
        takeBack: @escaping @Sendable () -> Void = {},
        rest: @escaping @Sendable () -> Void = {}
    ) -> JobGate {
        JobGate(refuse: { [self] in await stranger(to: request) }, open: open, takeBack: takeBack, rest: rest)
    }

    /// What one user has asked for never goes out as another's: whoever is signed in now may have put credentials of its own
    /// into reach of an interceptor.
    private func stranger(to request: Request) async -> ReplayOutcome? {
        guard let identity = request.identity, environment.provider != nil else { return nil }
        var nobodys = request
        nobodys.identity = nil
        do throws(ConnectionError) {
            // Where it names nobody, there is nobody else's credential either; a secret has to be known for the job's own.
            let current = try await environment.resolve(nobodys, within: time.left(of: request)).identity
            guard let current, !current.isExactly(identity) else { return nil }
            let message = "the job's identity is not the one that is signed in"
            return .failed(.noCredential, code: "noCredential", message: message)
        } catch  where error.code == .noEngine {
            // The engine is being closed, and nothing speaks against the job.
            return .failed(.returned, code: error.code.description, message: error.message)
        } catch {
            let message = "the credential provider could not say who is signed in"
            return .failed(.unsent, code: "noCredential", message: message)
        }
    }

    // MARK: What came of it

    func outcome(of response: Response, _ request: Request, _ gate: JobGate) -> ReplayOutcome {
        ReplayOutcome(
            response, statuses: statuses(of: request), now: queueTime, isBehindRedirect: gate.isBehindRedirect)
    }

    func outcome(of error: ConnectionError, _ request: Request, _ gate: JobGate) -> ReplayOutcome {
        if let refusal = gate.refusal, gate.hasRefused || !error.isGivenUp { return refusal }
        return ReplayOutcome(
            error, method: request.method, statuses: statuses(of: request), now: queueTime,
            isReachable: reachability.isReachable, isBehindRedirect: gate.isBehindRedirect)
    }

    /// What a date in `Retry-After` is held against where the answer has none of its own: no wall clock that was set.
    private var queueTime: Int64 { replays?.opened?.now() ?? wire.now() }

    private func statuses(of request: Request) -> Set<Int> { (request.retry ?? retry).statuses }
}
