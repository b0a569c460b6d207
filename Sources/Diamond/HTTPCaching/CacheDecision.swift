/// The decision for a request, given what is stored. A value, computed without I/O; the pipeline obeys it.
enum CacheDecision: Equatable {
    /// The failures of the server for which the stored response stands in.
    enum Fallback: Equatable {
        case none
        /// Lost connections, and the statuses 500, 502, 503 and 504 (RFC 5861 section 4).
        case staleIfError
        /// Every failure: the policy of the app says so.
        case anyFailure
    }

    /// Answer from the cache: `.cache` when fresh, `.stale` where policy, request or server accept that.
    case serve(Response.Source)
    /// Answer with the stale response, and bring it up to date behind the answer.
    case serveStaleAndRefresh
    /// Ask the server, with the stored validators or without.
    case ask(conditionally: Bool, elseStored: Fallback)
    /// Answer 504 (RFC 9111 section 5.2.1.7).
    case fail

    /// - Parameters:
    ///   - now: milliseconds since 1970.
    ///   - stored: what the request's key finds, or `nil`.
    ///   - policy: the app's. Only `automatic` leaves the decision to server and request.
    ///   - request: the request's own `Cache-Control`. Of it, `only-if-cached` counts under every policy.
    init(now: Int64, stored: StoredResponse?, policy: CachePolicy, request: CacheControl? = nil) {
        let decision = Self(now, stored, policy, request)
        self = request?.onlyIfCached == true ? decision.withoutServer(now, stored, policy) : decision
    }

    private init(_ now: Int64, _ stored: StoredResponse?, _ policy: CachePolicy, _ request: CacheControl?) {
        guard let stored else {
            self = policy.mode == .cacheOnly ? .fail : .ask(conditionally: false, elseStored: .none)
            return
        }
        let isFresh = stored.isFresh(at: now, maxAge: policy.maxAge?.milliseconds)
        let hasValidator = stored.flags.contains(.hasValidator)
        switch policy.mode {
        case .automatic:
            self =
                isFresh && request == nil
                ? .serve(.cache) : Reuse(of: stored, at: now, maxAge: policy.maxAge, by: request).decision
        case .cacheElseNetwork, .cacheOnly:
            self = .serve(isFresh ? .cache : .stale)
        case .networkElseCache:
            // RFC 9111 section 5.2.2.2: not even for want of a network. Section 4.2.4 says the same of no-cache, which many
            // servers send with all they answer: against that the app, which wants an old answer rather than none, prevails.
            let mayBeStale = isFresh || !stored.flags.contains(.mustRevalidate)
            self = .ask(conditionally: hasValidator, elseStored: mayBeStale ? .anyFailure : .none)
        case .staleWhileRevalidate:
            self = isFresh ? .serve(.cache) : .serveStaleAndRefresh
        case .revalidate:
            self = .ask(conditionally: hasValidator, elseStored: .none)
        case .reload, .noStore:
            self = .ask(conditionally: false, elseStored: .none)
        }
    }

    /// The decision where the server is not to be asked (RFC 9111 section 5.2.1.7): what is served without it, or else 504.
    private func withoutServer(_ now: Int64, _ stored: StoredResponse?, _ policy: CachePolicy) -> CacheDecision {
        switch self {
        case .serve, .fail: return self
        case .serveStaleAndRefresh: return .serve(.stale)
        case .ask(_, elseStored: .anyFailure):
            let isFresh = stored?.isFresh(at: now, maxAge: policy.maxAge?.milliseconds) == true
            return .serve(isFresh ? .cache : .stale)
        case .ask: return .fail
        }
    }
}
