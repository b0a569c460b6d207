import HTTPTypes

/// The questions of the engine and its connections other than requests.
extension Pipeline {
    /// Returns a response that lies in memory and may be served as it is, where no code of the app has a say: found without a
    /// wait, within less time than a change of threads takes.
    ///
    /// - Returns: `nil` in every other case, failures included.
    func atHand(_ request: Request) -> Response? {
        guard cache != nil, isPlain(request), let resolved = try? resolver.resolvedAtOnce(request) else { return nil }
        return lookup.atHand(resolved, redirectLimit: redirectLimit)
    }

    /// Whether nobody is asked or told about a request that the cache can answer, and its key is made of a few bytes.
    private func isPlain(_ request: Request) -> Bool {
        wire.interceptors.isEmpty && wire.cookies == nil && request.body == nil && !request.isReplayable
            && !lanes.isSerial(request.lane) && !activity.isObserved
    }

    /// Returns the key of a request where it is known already.
    func knownKey(of request: Request) -> RequestKey? {
        ResolvedRequest.known(by: request.memo, in: environment.number)?.identity.value?.key
    }

    /// Returns the key of a request; asks the credential provider for its identity.
    func key(of request: Request) async throws(ConnectionError) -> RequestKey {
        let resolved = try await resolver.resolved(request)
        if let key = resolved.identity.value?.key { return key }
        do { return try CanonicalForm(of: resolved.wire, rules: environment.rules).key } catch {
            throw ConnectionError(error)
        }
    }

    /// Notes that what is under way for an identity is neither stored nor joined any more.
    func forget(_ identity: String) {
        invalidations.addLogout(of: identity)
        // With a cache, erasing does as much.
        if cache == nil { invalidations.add(.identity(identity), isErasure: true) }
    }

    /// Counts something that a connection does, whose request is not resolved yet.
    func begin(
        _ kind: ActivityInterval.Kind,
        _ request: Request,
        of parent: ActivityInterval.ID? = nil
    ) -> ActivityToken {
        let known = ResolvedRequest.known(by: request.memo, in: environment.number)
        let origin = known?.place.origin ?? environment.origin(of: request)
        let subject = ActivitySubject(lane: request.lane, origin: origin, tags: request.tags)
        return activity.begin(kind, subject, of: parent) {
            ActivityRequest(method: request.method) { [environment] in environment.printableURL(of: request) }
        }
    }
}

extension Environment {
    /// Scheme, host and port; empty where the request cannot be sent.
    fileprivate func origin(of request: Request) -> String {
        (try? RequestURL(parsing: resolvedURL(of: request))).map { String(decoding: $0.origin, as: UTF8.self) } ?? ""
    }

    /// Returns the URL of a request for people, with its secrets masked.
    fileprivate func printableURL(of request: Request) -> String {
        guard let url = try? resolvedURL(of: request) else { return RequestURL.masked(Array(request.url.utf8)) }
        var request = request
        request.url = url
        return (try? WireRequest(request))?.printableURL(rules) ?? RequestURL.masked(Array(url.utf8))
    }
}
