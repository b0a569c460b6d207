import DiamondSQLite
import Foundation
import HTTPTypes

/// The less frequent steps of a hop.
extension Pipeline {
    /// Serves a stored response.
    ///
    /// - Returns: `nil` if it cannot be read; the progress notes that.
    @inline(never)
    func served(
        _ stored: StoredCandidate,
        as source: Response.Source,
        for context: RequestContext,
        progress: inout HopProgress
    ) async throws(ConnectionError) -> Response? {
        guard context.caller.sink != nil else {
            return lookup.response(from: stored.response, as: source, for: context.resolved)
        }
        switch try await lookup.serve(stored, as: source, for: context) {
        case .response(let response): return response
        case .unreadable(let error):
            progress.noteUnreadable(error)
            return nil
        }
    }

    /// Serves a stale response, and refreshes it in the background. If the body goes into a sink, the refresh begins
    /// after its last piece, because the new response replaces the body that is read.
    @inline(never)
    func servedStale(
        _ stored: StoredCandidate,
        for context: RequestContext,
        at position: LogPosition,
        progress: inout HopProgress
    ) async throws(ConnectionError) -> Response? {
        guard context.caller.sink != nil else {
            refresh(stored, for: context, at: position)
            return lookup.response(from: stored.response, as: .stale, for: context.resolved)
        }
        do throws(ConnectionError) {
            // A response that cannot be read cannot be confirmed, and the hop looks up again.
            let response = try await served(stored, as: .stale, for: context, progress: &progress)
            if response != nil { refresh(stored, for: context, at: position) }
            return response
        } catch {
            refresh(stored, for: context, at: position)
            throw error
        }
    }

    private func refresh(_ stored: StoredCandidate, for context: RequestContext, at position: LogPosition) {
        // One refresh at a time: while it waits, thousands of callers may get the same stale response.
        let key = RefreshKey(of: stored.identity)
        refreshes.add(for: key) {
            let token = context.begin(.refresh, in: activity)
            let context = context.inBackground
            let revalidation = Revalidation(
                stored: stored.withoutReader, isConditional: stored.response.flags.contains(.hasValidator),
                lookedUpAt: position)
            return { [self] in
                let outcome = await exchangeOutcome(
                    for: context, revalidation, parent: token.id, progress: HopProgress(timeStart: nil))
                refreshes.free(key)
                token.end(ActivityOutcome(ofRefresh: outcome))
            }
        }
    }

    /// Returns the context for the exchange of a hop. It collects the body if a gateway requests only the rest of a
    /// stored response.
    @inline(never)
    func sent(_ context: RequestContext, progress: HopProgress) -> RequestContext {
        progress.mayCollect && lookup.isCompleted(context) ? context.with(sink: nil) : context
    }

    /// Returns the result of a hop; a stored response if the result is a failure and the policy allows one.
    func resultElseStored(
        _ result: Result<Response, ConnectionError>,
        for context: RequestContext
    ) async throws(ConnectionError) -> Response {
        guard context.caller.sink?.isCommitted != true, let failure = await failure(of: result, for: context),
            let fallback = lookup.fallback(for: context),
            fallback.kind != .disconnected || ServerFailure.isDisconnection(result)
        else { return try result.get() }
        let forwarding = CacheForwarding(
            reason: lookup.forwardReason(for: context, stored: fallback.stored.response), status: result.status)
        guard
            case .response(var response) = try await lookup.serve(
                fallback.stored, as: fallback.source, for: context, after: result.attempts, forwarding: forwarding)
        else {
            // The failed request is not sent again.
            return try result.get()
        }
        response.facts.failure = failure
        return response
    }

    /// Returns the error if the server has failed, or the caller refuses its response; `nil` otherwise. A sink that
    /// refuses the body is no failure. Under policies other than `networkElseCache`, only a ``ServerFailure`` counts,
    /// and a large body that a gateway has not collected.
    private func failure(
        of result: Result<Response, ConnectionError>, for context: RequestContext
    ) async -> ConnectionError? {
        guard context.policy.mode == .networkElseCache else {
            return ServerFailure.isOne(result) || isTooLargeAndReplaced(result, for: context) ? result.error : nil
        }
        switch result {
        case .success(let response):
            if response.status.code >= 500 { return result.error }
            let refusal = await refusal(of: response, for: context)
            return refusal?.isFailure == true ? refusal : nil
        case .failure(let error):
            let isNotTaken = context.caller.sink != nil && [.cannotWrite, .bodyTooLarge].contains(error.code)
            return !isNotTaken && error.isFailure ? error : nil
        }
    }

    /// Whether a gateway has not collected a large body because a stored response replaces it. All other bodies go into
    /// the sink.
    private func isTooLargeAndReplaced(_ result: Result<Response, ConnectionError>, for context: RequestContext) -> Bool
    {
        guard context.caller.sink?.takesEveryStatus == true, case .failure(let error) = result else { return false }
        return error.code == .bodyTooLarge
    }

    // MARK: Counting

    /// Counts a request when it is sent; a connection counts its own request.
    @inline(never)
    func count(_ context: RequestContext, by token: inout ActivityToken?) {
        guard context.caller.request == nil, token == nil else { return }
        token = context.begin(.request, in: activity)
    }

    func countMiss(of plan: ExchangePlan, progress: HopProgress) {
        guard let cache, plan.isAwaited, plan.context.identity != nil, !progress.hasMissed else { return }
        activity.report(.miss(plan.context.resolved.lookup(in: activity)))
        cache.countMiss()
    }
}

extension Result where Success == Response, Failure == ConnectionError {
    /// The status of the server; `nil` after a failure.
    fileprivate var status: Int? {
        switch self {
        case .success(let response): response.status.code
        case .failure: nil
        }
    }

    fileprivate var attempts: [Attempt] {
        switch self {
        case .success(let response): response.attempts
        case .failure(let error): error.attempts
        }
    }
}

extension ConnectionError {
    /// Whether the server or the network has failed: not for a status of 3xx or 4xx, nor for errors of the caller.
    fileprivate var isFailure: Bool {
        if let response, (300..<500).contains(response.status.code) { return false }
        return ![.cancelled, .badRequest, .noEngine].contains(code)
    }
}

extension ActivityToken {
    @inline(never)
    func note(_ result: Result<Response, ConnectionError>) { setOutcome(ActivityOutcome(result)) }
}

extension ActivityOutcome {
    /// Creates the outcome of a refresh; empty if there was nothing to refresh.
    fileprivate init(ofRefresh outcome: ExchangeOutcome) {
        switch outcome.ending {
        case .response(let response): self.init(response)
        case .failure(let error): self.init(error)
        case .unreadable, .superseded, .dismissed: self.init()
        }
    }
}

extension Pipeline {
    /// The key of a stored response, which has one refresh at a time.
    struct RefreshKey: Hashable, Sendable {
        private let key: RequestKey
        /// The key of the request, also where the response is a variant with a key of its own.
        let requestKey: RequestKey

        init(of identity: ResolvedRequest.Identity) {
            key = identity.key
            requestKey = identity.requestKey ?? identity.key
        }
    }
}

extension Result<Response, ConnectionError> {
    /// The failure; for a response, the error of its status.
    fileprivate var error: ConnectionError {
        switch self {
        case .success(let response): ConnectionError(badStatus: response)
        case .failure(let error): error
        }
    }
}
