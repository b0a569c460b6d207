import HTTPTypes

/// The reuse of a stored response by the rules of HTTP alone: what its server allows, within the limits of the request
/// (RFC 9111 sections 4.2 and 5.2.1, RFC 5861).
///
/// | stored response | request | decision |
/// |---|---|---|
/// | fresh | accepts it | serve |
/// | stale by no more than `max-stale` | accepts its age | serve |
/// | stale by no more than the response's `stale-while-revalidate` | has no limits of its own | serve, and refresh |
/// | anything else | any | ask the server |
///
/// `no-cache`, `must-revalidate` and an invalidation forbid every stale response (section 4.2.4). The flag of
/// `must-revalidate` includes `proxy-revalidate` and `s-maxage` in a shared cache.
struct Reuse {
    private let stored: StoredResponse
    private let request: CacheControl?
    private let targets: [HTTPField.Name]
    private let servesDisconnected: Bool
    private let age: Int64
    private let remainingLifetime: Int64
    /// Whether the server has to validate the response, whatever its age.
    private let needsValidation: Bool

    /// - Parameters:
    ///   - now: the current time.
    ///   - maxAge: the app's lifetime for a response without one.
    ///   - request: the request's own `Cache-Control`.
    ///   - targets: the targeted fields that count before the response's `Cache-Control`.
    ///   - servesDisconnected: whether a stale response is served when the server cannot be reached.
    init(
        of stored: StoredResponse,
        at now: WallTime,
        maxAge: Duration?,
        by request: CacheControl?,
        targets: [HTTPField.Name] = [],
        servesDisconnected: Bool = false
    ) {
        self.servesDisconnected = servesDisconnected
        self.targets = targets
        self.stored = stored
        self.request = request
        age = stored.age(at: now)
        remainingLifetime = stored.remainingLifetime(at: now, maxAge: maxAge?.milliseconds)
        needsValidation = stored.needsValidation(at: now)
    }

    var decision: CacheDecision {
        guard !needsValidation else { return ask(elseStored: .none) }
        // Read from the headers only if needed: a fresh hit needs only the flags.
        lazy var control = CacheControl(stored.headers, targets: targets)
        if isFresh, accepts(age: { control.isImmutable }) { return .serve(.cache) }
        guard isFresh || !stored.flags.contains(.mustRevalidate) else { return ask(elseStored: .none) }
        if !isFresh, acceptsStale { return .serve(.stale) }
        if !isFresh, !hasLimits, isStale(within: control.staleWhileRevalidate) { return .serveStaleAndRefresh }
        if isForErrors(control) { return ask(elseStored: .staleIfError) }
        return ask(elseStored: servesDisconnected && !hasLimits ? .disconnected : .none)
    }

    private var isFresh: Bool { remainingLifetime > 0 }

    private func ask(elseStored fallback: CacheDecision.Fallback) -> CacheDecision {
        .ask(conditionally: stored.flags.contains(.hasValidator), elseStored: fallback)
    }

    // MARK: The limits of the request

    /// Whether the request limits age, freshness or reuse.
    private var hasLimits: Bool {
        guard let request else { return false }
        return request.noCache || request.maxAge != nil || request.minFresh != nil
    }

    /// Whether the request accepts the fresh response.
    ///
    /// - Parameter isImmutable: whether the response does not change while it is fresh. Then it also answers a request
    ///   that reloads by `max-age`, but not one with `no-cache`, which demands validation (RFC 8246 section 2.1).
    private func accepts(age isImmutable: () -> Bool) -> Bool {
        guard let request else { return true }
        guard !request.noCache, remainingLifetime >= (request.minFresh ?? 0) * 1000 else { return false }
        return isYoungEnough(for: request) || isImmutable()
    }

    /// Whether `max-age` allows the age (section 5.2.1.1). 0 demands validation, however recent the last one is.
    private func isYoungEnough(for request: CacheControl) -> Bool {
        guard let maxAge = request.maxAge else { return true }
        return maxAge > 0 && age <= maxAge * 1000
    }

    /// Whether the request accepts the stale response (section 5.2.1.2). The other limits apply in addition to
    /// `max-stale`.
    private var acceptsStale: Bool {
        guard let request, !request.noCache, request.minFresh == nil, isYoungEnough(for: request) else { return false }
        return isStale(within: request.maxStale)
    }

    // MARK: Errors

    /// Whether the response may be served instead of an error (RFC 5861 section 4). If the request has `no-cache`, only
    /// its own `stale-if-error` allows that.
    private func isForErrors(_ control: CacheControl) -> Bool {
        isStale(within: request?.staleIfError)
            || request?.noCache != true && isStale(within: control.staleIfError)
    }

    /// Whether the response has been stale for at most this number of seconds.
    private func isStale(within seconds: Int64?) -> Bool { seconds.map { -remainingLifetime <= $0 * 1000 } ?? false }
}
