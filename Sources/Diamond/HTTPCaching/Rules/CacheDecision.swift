import HTTPTypes

/// The decision for a request, given what is stored. A value, computed without I/O; the pipeline obeys it.
package enum CacheDecision: Equatable, Sendable {
    /// The failures of the server after which the stored response is served.
    package enum Fallback: Equatable, Sendable {
        case none
        /// Lost connections: the cache is disconnected (RFC 9111 section 4.2.4).
        case disconnected
        /// Lost connections, and the statuses 500, 502, 503 and 504 (RFC 5861 section 4).
        case staleIfError
        /// Every failure, because the app's policy says so.
        case anyFailure
    }

    /// Answer from the cache: `.cache` for a fresh response, `.stale` if policy, request or server allows a stale one.
    case serve(Response.Source)
    /// Answer with the stale response, and refresh it in the background.
    case serveStaleAndRefresh
    /// Ask the server, with the stored validators or without.
    case ask(conditionally: Bool, elseStored: Fallback)
    /// Answer 504 (RFC 9111 section 5.2.1.7).
    case fail

    /// - Parameters:
    ///   - now: the current time.
    ///   - stored: the response stored under the request's key; `nil` if there is none.
    ///   - policy: the app's policy. Only `automatic` leaves the decision to server and request. Under every policy, a
    ///     response of a shared cache that may be for one user is validated.
    ///   - request: the request's own `Cache-Control`. Its `only-if-cached` counts under every policy.
    ///   - targets: the targeted fields that count before the response's `Cache-Control`.
    ///   - servesDisconnected: whether a stale response is served when the server cannot be reached.
    init(
        now: WallTime,
        stored: StoredResponse?,
        policy: CachePolicy,
        request: CacheControl? = nil,
        targets: [HTTPField.Name] = [],
        servesDisconnected: Bool = false
    ) {
        let decision = Self(
            at: now, stored: stored, policy: policy, request: request, targets: targets,
            servesDisconnected: servesDisconnected)
        self =
            request?.onlyIfCached == true
            ? decision.withoutServer(at: now, stored: stored, policy: policy) : decision
    }

    private init(
        at now: WallTime,
        stored: StoredResponse?,
        policy: CachePolicy,
        request: CacheControl?,
        targets: [HTTPField.Name],
        servesDisconnected: Bool
    ) {
        guard let stored else {
            self = policy.mode == .cacheOnly ? .fail : .ask(conditionally: false, elseStored: .none)
            return
        }
        let isFresh = stored.isFresh(at: now, maxAge: policy.maxAge?.milliseconds)
        let hasValidator = stored.flags.contains(.hasValidator)
        switch policy.mode {
        case .reload, .noStore:
            self = .ask(conditionally: false, elseStored: .none)
        case .cacheOnly where stored.mayBeForOneUser:
            self = .fail
        case _ where stored.mayBeForOneUser:
            // No policy lets a response for one user answer another one: its server decides.
            self = .ask(conditionally: hasValidator, elseStored: .none)
        case .automatic:
            self =
                isFresh && request == nil
                ? .serve(.cache)
                : Reuse(
                    of: stored, at: now, maxAge: policy.maxAge, by: request, targets: targets,
                    servesDisconnected: servesDisconnected
                ).decision
        case .cacheElseNetwork, .cacheOnly:
            self = .serve(isFresh ? .cache : .stale)
        case .networkElseCache:
            // A response with must-revalidate is not served stale even without a network (RFC 9111 section 5.2.2.2).
            // Section 4.2.4 says the same of no-cache, which many servers send with every response: there the app's
            // policy prevails.
            let mayBeStale = isFresh || !stored.flags.contains(.mustRevalidate)
            self = .ask(conditionally: hasValidator, elseStored: mayBeStale ? .anyFailure : .none)
        case .staleWhileRevalidate:
            self = isFresh ? .serve(.cache) : .serveStaleAndRefresh
        case .revalidate:
            self = .ask(conditionally: hasValidator, elseStored: .none)
        }
    }

    /// Returns the decision without the server (RFC 9111 section 5.2.1.7): the stored response, or else 504.
    private func withoutServer(at now: WallTime, stored: StoredResponse?, policy: CachePolicy) -> CacheDecision {
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
