import DiamondSQLite
import Foundation
import HTTPTypes

/// The less frequent steps of a hop.
extension Pipeline {
    /// Serves a stored response.
    ///
    /// - Returns: `none` where it cannot be read, which is noted.
    // Not inlined, to keep the async frames of waiting callers small.
    @inline(never)
    func served(
        _ stored: StoredCandidate,
        _ source: Response.Source,
        for context: RequestContext,
        _ progress: inout HopProgress
    ) async throws(ConnectionError) -> IndirectOptional<Response> {
        guard context.caller.sink != nil else {
            return .some(lookup.response(from: stored.response, source, for: context.resolved))
        }
        switch try await lookup.serve(stored, source, for: context) {
        case .response(let response): return .some(response)
        case .unreadable(let error):
            progress.noteUnreadable(error)
            return .none
        }
    }

    /// Serves a stale response, and refreshes it in the background: behind the last piece of a body that is read in pieces,
    /// because the new response replaces what is read.
    // Not inlined, to keep the async frames of waiting callers small.
    @inline(never)
    func servedStale(
        _ stored: StoredCandidate,
        for context: RequestContext,
        at instant: InvalidationLog.Instant,
        _ progress: inout HopProgress
    ) async throws(ConnectionError) -> IndirectOptional<Response> {
        guard context.caller.sink != nil else {
            refresh(stored, for: context, at: instant)
            return .some(lookup.response(from: stored.response, .stale, for: context.resolved))
        }
        do throws(ConnectionError) {
            // Of what cannot be read there is nothing to confirm, and it is looked up again.
            let response = try await served(stored, .stale, for: context, &progress)
            if case .some = response { refresh(stored, for: context, at: instant) }
            return response
        } catch {
            refresh(stored, for: context, at: instant)
            throw error
        }
    }

    private func refresh(_ stored: StoredCandidate, for context: RequestContext, at instant: InvalidationLog.Instant) {
        // One at a time: while it waits, others may find the same stale response by the thousand.
        let key = context.identity?.key
        if let key, !refreshing.withLock({ $0.insert(key).inserted }) { return }
        let token = context.begin(.refresh, in: activity)
        let plan = ExchangePlan(
            context.inBackground, stored: StoredCandidate(stored.response),
            isConditional: stored.response.flags.contains(.hasValidator), isAwaited: false, begin: nil,
            parent: token.id, lookedUpAt: instant)
        refreshes.add { [self] in
            let outcome = await outcome(of: plan, HopProgress(begin: nil))
            if let key { _ = refreshing.withLock { $0.remove(key) } }
            token.end(ActivityOutcome(ofRefresh: outcome))
        }
    }

    // Not inlined, as above.
    @inline(never)
    func settledElseStored(
        _ result: Result<Response, ConnectionError>,
        for context: RequestContext
    ) async throws(ConnectionError) -> Response {
        guard context.caller.sink?.isCommitted != true, await isFailure(result, for: context),
            let (stored, source) = lookup.fallback(for: context)
        else { return try result.get() }
        let attempts = result.attempts
        guard case .response(let response) = try await lookup.serve(stored, source, for: context, after: attempts)
        else {
            // The server, which failed, is not asked all over again.
            return try result.get()
        }
        return response
    }

    /// Whether the server has failed, or its response is refused by the caller; not where a body cannot be written.
    private func isFailure(_ result: Result<Response, ConnectionError>, for context: RequestContext) async -> Bool {
        switch result {
        case .success(let response):
            if response.status.code >= 500 { return true }
            return await refusal(of: response, for: context)?.isFailure ?? false
        case .failure(let error):
            let isNotTaken = context.caller.sink != nil && [.cannotWrite, .bodyTooLarge].contains(error.code)
            return !isNotTaken && error.isFailure
        }
    }

    // MARK: Counting

    /// Counts a request when its server is asked; that of a connection is counted by the connection.
    @inline(never)
    func count(_ context: RequestContext, _ token: inout ActivityToken?) {
        guard context.caller.request == nil, token == nil else { return }
        token = context.begin(.request, in: activity)
    }

    func countMiss(of plan: ExchangePlan, _ progress: HopProgress) {
        guard let cache, plan.isAwaited, plan.context.identity != nil, !progress.hasMissed else { return }
        activity.report(.miss)
        cache.countMiss()
    }
}

extension Result where Success == Response, Failure == ConnectionError {
    fileprivate var attempts: [Attempt] {
        switch self {
        case .success(let response): response.attempts
        case .failure(let error): error.attempts
        }
    }
}

extension ConnectionError {
    /// `false` for a status of 3xx or 4xx, also where it is an error for the app, and for faults of the caller.
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
    /// The outcome of a refresh; empty where the response would have been another caller's alone, and there is nothing to
    /// refresh.
    fileprivate init(ofRefresh outcome: ExchangeOutcome) {
        switch outcome.ending {
        case .response(let response): self.init(response)
        case .failure(let error): self.init(error)
        case .unreadable, .superseded, .dismissed: self.init()
        }
    }
}
