/// The reuse of a stored response by the rules of HTTP alone: what its server allows, within what the request accepts (RFC
/// 9111 sections 4.2 and 5.2.1, RFC 5861).
///
/// | stored response | request | decision |
/// |---|---|---|
/// | fresh | accepts it | serve |
/// | stale by no more than `max-stale` | accepts its age | serve |
/// | stale by no more than the response's `stale-while-revalidate` | has no wish of its own | serve, and refresh |
/// | anything else | any | ask the server |
///
/// `no-cache`, `must-revalidate` and an invalidation forbid all that is stale (section 4.2.4). `must-revalidate` includes
/// what obliges a shared cache alone.
struct Reuse {
    private let stored: StoredResponse
    private let request: CacheControl?
    private let age: Int64
    private let remainingLifetime: Int64
    /// Whether neither age nor staleness count: the server has to be asked.
    private let needsValidation: Bool

    /// - Parameters:
    ///   - now: milliseconds since 1970.
    ///   - maxAge: the app's lifetime where the server gives none.
    ///   - request: the request's own `Cache-Control`.
    init(of stored: StoredResponse, at now: Int64, maxAge: Duration?, by request: CacheControl?) {
        self.stored = stored
        self.request = request
        age = stored.age(at: now)
        remainingLifetime = stored.remainingLifetime(at: now, maxAge: maxAge?.milliseconds)
        needsValidation = stored.needsValidation(at: now)
    }

    var decision: CacheDecision {
        guard !needsValidation else { return ask(elseStored: .none) }
        // Read from the headers only where that is needed: a hit that is fresh needs no more than the flags.
        lazy var control = CacheControl(stored.headers)
        if isFresh, accepts(age: { control.isImmutable }) { return .serve(.cache) }
        guard isFresh || !stored.flags.contains(.mustRevalidate) else { return ask(elseStored: .none) }
        if !isFresh, acceptsStale { return .serve(.stale) }
        if !isFresh, !hasWishes, isStale(within: control.staleWhileRevalidate) { return .serveStaleAndRefresh }
        return ask(elseStored: isForErrors(control) ? .staleIfError : .none)
    }

    private var isFresh: Bool { remainingLifetime > 0 }

    private func ask(elseStored fallback: CacheDecision.Fallback) -> CacheDecision {
        .ask(conditionally: stored.flags.contains(.hasValidator), elseStored: fallback)
    }

    // MARK: The request's wishes

    /// Whether the request limits age, freshness or reuse.
    private var hasWishes: Bool {
        guard let request else { return false }
        return request.noCache || request.maxAge != nil || request.minFresh != nil
    }

    /// Whether the request takes the fresh response.
    ///
    /// - Parameter isImmutable: whether the response does not change while it is fresh. It then is as good as a new one: a
    ///   client that reloads, by `max-age`, gets it. `no-cache` is a client's explicit word for a validation (RFC 8246
    ///   section 2.1).
    private func accepts(age isImmutable: () -> Bool) -> Bool {
        guard let request else { return true }
        guard !request.noCache, remainingLifetime >= (request.minFresh ?? 0) * 1000 else { return false }
        return isYoungEnough(for: request) || isImmutable()
    }

    /// Whether `max-age` allows the age (section 5.2.1.1). 0 asks for a validation, however short ago the last one was.
    private func isYoungEnough(for request: CacheControl) -> Bool {
        guard let maxAge = request.maxAge else { return true }
        return maxAge > 0 && age <= maxAge * 1000
    }

    /// Whether the request takes the stale response (section 5.2.1.2). `max-stale` leaves its other wishes as they are.
    private var acceptsStale: Bool {
        guard let request, !request.noCache, request.minFresh == nil, isYoungEnough(for: request) else { return false }
        return isStale(within: request.maxStale)
    }

    // MARK: The server's leave

    /// Whether the response may stand in for an error (RFC 5861 section 4). Where the request forbids reuse, it has to allow
    /// this itself.
    private func isForErrors(_ control: CacheControl) -> Bool {
        isStale(within: request?.staleIfError)
            || request?.noCache != true && isStale(within: control.staleIfError)
    }

    /// Whether the response has been stale for so many seconds at most.
    private func isStale(within seconds: Int64?) -> Bool { seconds.map { -remainingLifetime <= $0 * 1000 } ?? false }
}
