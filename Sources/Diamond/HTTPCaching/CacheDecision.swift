/// The decision for a request, given what is stored. A value, computed without I/O; the pipeline obeys it.
enum CacheDecision: Equatable {
    /// Answer from the cache: `.cache` when fresh, `.stale` when the policy does not mind.
    case serve(Response.Source)
    /// Answer with the stale response, and bring it up to date behind the answer.
    case serveStaleAndRefresh
    /// Ask the server, with the stored validators or without. When it cannot be reached, answer with the stored
    /// response or fail.
    case ask(conditionally: Bool, elseStored: Bool)
    /// Answer 504 (RFC 9111 section 5.2.1.7).
    case fail

    /// - Parameters:
    ///   - now: milliseconds since 1970.
    ///   - stored: what the request's key finds, or `nil`.
    init(now: Int64, stored: StoredResponse?, policy: CachePolicy) {
        guard let stored else {
            self = policy.mode == .cacheOnly ? .fail : .ask(conditionally: false, elseStored: false)
            return
        }
        let isFresh = stored.isFresh(at: now, maxAge: policy.maxAge?.milliseconds)
        let hasValidator = stored.flags.contains(.hasValidator)
        switch policy.mode {
        case .automatic:
            self = isFresh ? .serve(.cache) : .ask(conditionally: hasValidator, elseStored: false)
        case .cacheElseNetwork, .cacheOnly:
            self = .serve(isFresh ? .cache : .stale)
        case .networkElseCache:
            // RFC 9111 section 5.2.2.2: not even for want of a network. Section 4.2.4 says the same of no-cache, which many
            // servers send with all they answer: against that the app, which wants an old answer rather than none, prevails.
            let mayBeStale = isFresh || !stored.flags.contains(.mustRevalidate)
            self = .ask(conditionally: hasValidator, elseStored: mayBeStale)
        case .staleWhileRevalidate:
            self = isFresh ? .serve(.cache) : .serveStaleAndRefresh
        case .revalidate:
            self = .ask(conditionally: hasValidator, elseStored: false)
        case .reload, .noStore:
            self = .ask(conditionally: false, elseStored: false)
        }
    }
}
