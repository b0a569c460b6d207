import Foundation

/// The first stage: resolves a request to its absolute URL, headers, identity, policy and key.
///
/// The environment is applied once, before the first hop: headers that a redirect to another origin removes stay
/// removed.
struct RequestResolver: Sendable {
    let environment: Environment
    let invalidations: InvalidationLog
    let time: RequestTime
    let cookies: CookieJar?
    /// Returns the current time.
    let now: @Sendable () -> WallTime

    private var date: Date { now().date }

    /// Returns the context of a request's first hop.
    ///
    /// - Throws: ``ConnectionError`` if the request cannot be sent, or its credential provider fails.
    func context(of request: Request, for caller: Caller) async throws(ConnectionError) -> RequestContext {
        let position = invalidations.position
        let resolved: ResolvedRequest
        if caller.gate != nil || caller.resolvedAt != nil {
            resolved = try ResolvedRequest(request, rules: environment.rules)
        } else if let known = try resolvedAtOnce(request) {
            resolved = known
        } else {
            resolved = try await resolvedWithIdentity(request, for: caller)
        }
        return RequestContext(
            resolved, for: caller, at: caller.resolvedAt ?? position, cookies: cookies, now: date)
    }

    /// Returns the context of the next hop after a redirect.
    ///
    /// - Parameters:
    ///   - hasBody: whether the body is sent again.
    ///   - timeStart: the start of the request's time.
    func context(
        of request: Request,
        after last: RequestContext,
        withBody hasBody: Bool,
        timeStart: EngineTime?
    ) throws(ConnectionError) -> RequestContext {
        RequestContext(
            try ResolvedRequest(request, rules: environment.rules), after: last, withBody: hasBody,
            timeStart: timeStart,
            rules: environment.rules, cookies: cookies, now: date)
    }

    /// Resolves a request; the credential provider names the identity if the request has none.
    func resolved(_ request: Request) async throws(ConnectionError) -> ResolvedRequest {
        if let resolved = try resolvedAtOnce(request) { return resolved }
        return try await resolvedWithIdentity(request, for: Caller())
    }

    @inline(never)
    private func resolvedWithIdentity(
        _ request: Request,
        for caller: Caller
    ) async throws(ConnectionError) -> ResolvedRequest {
        let complete = try await caller.whileWaiting { () async throws(ConnectionError) in
            try await environment.resolve(request, within: time.left(of: request))
        }
        let resolved = try ResolvedRequest(complete, rules: environment.rules)
        if request.identity != nil { remember(resolved, of: request) }
        return resolved
    }

    /// Resolves a request without a wait; `nil` if the credential provider has to name its identity.
    func resolvedAtOnce(_ request: Request) throws(ConnectionError) -> ResolvedRequest? {
        if let known = ResolvedRequest.known(by: request.memo, in: environment.number) { return known }
        guard environment.provider == nil else { return nil }
        var complete = request
        try environment.complete(&complete)
        let resolved = try ResolvedRequest(complete, rules: environment.rules)
        remember(resolved, of: request)
        return resolved
    }

    private func remember(_ resolved: ResolvedRequest, of request: Request) {
        guard request.body?.readsFiles != true else { return }
        request.memo.store(resolved, by: environment.number)
    }
}
