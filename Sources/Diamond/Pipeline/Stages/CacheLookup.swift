import Foundation
import HTTPTypes

/// The second stage: finds what is stored for a request, decides what it is good for, and serves it.
struct CacheLookup: Sendable {
    /// The next step of a hop with a stored response.
    enum Step {
        case serve(StoredCandidate, Response.Source)
        /// Serve it, and refresh it in the background.
        case serveStale(StoredCandidate)
        /// Ask the server.
        case ask(stored: StoredCandidate?, isConditional: Bool)
        /// Only the cache may answer, and cannot.
        case fail
    }

    let cache: Cache?
    let activity: Activity
    /// Milliseconds since 1970.
    let now: @Sendable () -> Int64

    /// Returns what to do for a request.
    ///
    /// - Parameter ignoresStored: whether what is stored counts for nothing, because it cannot be read.
    // Not inlined, to keep the async frames of waiting callers small.
    @inline(never)
    func step(for context: RequestContext, ignoresStored: Bool) -> Step {
        guard context.identity != nil else {
            return context.policy.mode == .cacheOnly ? .fail : .ask(stored: nil, isConditional: false)
        }
        let stored = ignoresStored ? nil : find(for: context)
        switch (CacheDecision(now: now(), stored: stored?.response, policy: context.policy), stored) {
        case (.serve(let source), let stored?): return .serve(stored, source)
        case (.serveStaleAndRefresh, let stored?): return .serveStale(stored)
        case (.ask(let isConditional, _), _): return .ask(stored: stored, isConditional: isConditional)
        default: return .fail
        }
    }

    /// Returns the stored response that a policy takes over a server that fails, and how it is told.
    func fallback(for context: RequestContext) -> (StoredCandidate, Response.Source)? {
        guard let stored = find(for: context),
            case .ask(_, elseStored: true) = CacheDecision(
                now: now(), stored: stored.response, policy: context.policy)
        else { return nil }
        let isFresh = stored.response.isFresh(at: now(), maxAge: context.policy.maxAge?.milliseconds)
        return (stored, isFresh ? .cache : .stale)
    }

    /// Whether a response that can be served was stored since a plan was made. Looks at no file.
    @inline(never)
    func isSuperseded(_ plan: ExchangePlan) -> Bool {
        guard plan.mayBeSuperseded, let identity = plan.context.identity, let latest = peek(identity) else {
            return false
        }
        if let old = plan.stored?.response, latest.isUnchanged(since: old) { return false }
        guard case .serve = CacheDecision(now: now(), stored: latest, policy: plan.context.policy) else { return false }
        return true
    }

    /// Returns what is stored in memory, or waits to be written.
    func peek(_ identity: ResolvedRequest.Identity) -> StoredResponse? {
        cache?.peek(identity.key, request: identity.canonicalForm)
    }

    /// Returns what is stored; for a sink with a reader in place of the body.
    private func find(for context: RequestContext) -> StoredCandidate? {
        guard let cache, let identity = context.identity else { return nil }
        guard context.caller.sink != nil else { return cache.find(identity).map { StoredCandidate($0) } }
        do throws(CacheError) {
            let reader = try cache.bodyReader(
                identity.key, request: identity.canonicalForm, url: identity.knownURL)
            return reader.map { StoredCandidate($0.stored, reader: .some($0)) }
        } catch {
            report(error)
            return nil
        }
    }

    /// Reports a failure of the cache. The loss of an entry is reported where the entry is dropped.
    func report(_ error: CacheError) {
        guard error.code != .entryGone, error.code != .corrupt else { return }
        activity.report(.cacheFailed(reason: error.message))
    }

    // MARK: Serving

    /// Returns a response that lies in memory and may be served as it is; `nil` in every other case, failures included.
    func atHand(_ request: ResolvedRequest, redirectLimit: Int) -> Response? {
        guard let cache, let identity = request.identity.value,
            let stored = cache.findAtHand(identity.key, request: identity.canonicalForm),
            case .serve(let source) = CacheDecision(now: now(), stored: stored, policy: request.policy),
            redirectLimit == 0 || !(300..<400).contains(stored.status)
        else { return nil }
        return response(from: stored, source, for: request)
    }

    /// Returns a stored response, and counts the hit.
    func response(
        from stored: StoredResponse,
        _ source: Response.Source,
        for request: ResolvedRequest,
        after attempts: [Attempt] = []
    ) -> Response {
        activity.report(.hit(source))
        if let key = request.identity.value?.key { cache?.count(source, of: stored, under: key) }
        let isHead = request.wire.method == .head
        var response = stored.response(from: source, at: now(), url: request.url, isHead: isHead)
        response.attempts = attempts
        return response
    }
}

extension Cache {
    /// Returns what is stored for a request, fresh or not.
    func find(_ identity: ResolvedRequest.Identity) -> StoredResponse? {
        find(identity.key, request: identity.canonicalForm, url: identity.knownURL)
    }
}
