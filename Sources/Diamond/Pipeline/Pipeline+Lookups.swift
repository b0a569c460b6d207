import HTTPTypes

/// Lookups by the engine and its connections that send nothing.
extension Pipeline {
    /// Returns a response in memory that may be served without changes, if no code of the app has to be called. It does
    /// not wait, and takes less time than a change of threads.
    ///
    /// - Parameter bodyLimit: the maximum number of bytes of the stored body.
    /// - Returns: `nil` in every other case, even after a failure.
    func responseInMemory(to request: Request, bodyLimit: Int = .max) -> Response? {
        guard cache != nil, isPlain(request), let resolved = try? resolver.resolvedAtOnce(request) else { return nil }
        var response = lookup.responseInMemory(to: resolved, bodyLimit: bodyLimit, redirectLimit: redirectLimit)
        response?.facts.decoder = exchangeEnvironment.decoder
        return response
    }

    /// Whether no interceptor, jar or observer takes part in a request that the cache can answer, and its key is
    /// computed quickly.
    private func isPlain(_ request: Request) -> Bool {
        exchangeEnvironment.interceptors.isEmpty && exchangeEnvironment.cookies == nil && request.body == nil
            && !request.isReplayable
            && !lanes.isSerial(request.lane) && !activity.isObserved
    }

    /// Returns the key of a request if it was computed before; otherwise `nil`.
    func knownKey(of request: Request) -> RequestKey? {
        ResolvedRequest.known(by: request.memo, in: environment.number)?.identity?.key
    }

    /// Returns the key of a request; the credential provider names its identity if it has none.
    @concurrent
    func key(of request: Request) async throws(ConnectionError) -> RequestKey {
        let resolved = try await resolver.resolved(request)
        if let key = resolved.identity?.key { return key }
        do { return try CanonicalForm(of: resolved.wire, rules: environment.rules).key } catch {
            throw ConnectionError(error)
        }
    }

    /// Notes the logout of an identity: the responses of its running exchanges are not stored, and no caller joins
    /// them.
    func forget(_ identity: String) {
        invalidations.addLogout(of: identity)
        // With a cache, the erasure of its entries notes this.
        guard cache == nil else { return }
        invalidations.add(.identity(identity), isErasure: true)
        invalidations.announce(CacheInvalidation(of: [.identity(identity)], isErasure: true))
    }

    /// Begins an interval of a connection whose request may not be resolved yet.
    func begin(
        _ kind: ActivityInterval.Kind,
        for request: Request,
        of parent: ActivityInterval.ID? = nil
    ) -> ActivityToken {
        let known = ResolvedRequest.known(by: request.memo, in: environment.number)
        let origin = known?.permitScope.origin ?? environment.origin(of: request)
        let subject = ActivitySubject(lane: request.lane, origin: origin, tags: request.tags)
        return activity.begin(kind, for: subject, of: parent) {
            // An observer may keep the event: it must not keep the body, nor what the environment refers to.
            let (shown, baseURL, rules) = (request.withoutBody, environment.baseURL, environment.rules)
            return ActivityRequest(method: request.method) { shown.printableURL(within: baseURL, rules) }
        }
    }
}

extension Environment {
    /// Returns the origin, as scheme, host and port; empty if the request cannot be sent.
    fileprivate func origin(of request: Request) -> String {
        guard let url = try? RequestURL(parsing: request.resolvedURL(within: baseURL)) else { return "" }
        return String(decoding: url.origin, as: UTF8.self)
    }
}

extension Request {
    /// The request without its body, and without parameters that are sent in it. Its URL is the same.
    fileprivate var withoutBody: Request {
        var request = self
        // With a body, they are sent in the query by default.
        request.destination = effectiveDestination
        request.body = nil
        if request.destination != .query { request.parameters = [:] }
        return request
    }

    /// Returns the URL for messages, with its secrets masked.
    fileprivate func printableURL(within baseURL: String?, _ rules: KeyRules) -> String {
        guard let url = try? resolvedURL(within: baseURL) else { return RequestURL.masked(Array(self.url.utf8)) }
        var request = self
        request.url = url
        return (try? WireRequest(request))?.printableURL(rules) ?? RequestURL.masked(Array(url.utf8))
    }
}
