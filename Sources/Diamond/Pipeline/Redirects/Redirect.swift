import HTTPTypes

/// The request that a redirect asks for (RFC 9110 section 15.4).
enum Redirect {
    /// Returns the next request; `nil` if the response is no redirect, or has no valid `Location`.
    ///
    /// A 303 leads to a GET without a body, and so do 301 and 302 after a POST, as in every browser. A 307 or 308
    /// repeats method and body. Credentials and `Host` are not sent to another origin. An `Idempotency-Key` is, if the
    /// method is repeated.
    static func next(
        after request: WireRequest,
        rules: KeyRules,
        cache: CachePolicy,
        timeout: Duration?,
        response: Response
    ) -> Request? {
        guard let url = target(of: response, from: request)?.url else { return nil }
        var next = Request(
            url.text(), method: request.method, headers: request.headers, body: request.body, cache: cache)
        next.timeout = timeout
        next.encoding = request.encoding
        next.rules = request.rules
        next.identity = request.identity
        if request.hasProvidedIdentity { next.provide(identity: request.identity) }
        let isSameOrigin = url.origin == request.url.origin
        if isSameOrigin { next.credentials = request.headerCredentials }
        next.rules.secrets += request.secretParameters
        // The user of the response is unknown if a secret parameter was sent without an identity.
        if next.identity == nil, request.parameterCredentials.contains(where: { $0.secret.name != nil }) {
            next.cache = .noStore
        }
        if dropsBody(status: response.status.code, method: request.method) {
            next.method = request.method == .head ? .head : .get
            next.body = nil
            for name in Set(next.headers.map(\.name)) where name.isOfBody || name.isIdempotencyKey {
                next.headers[name] = nil
            }
        }
        // Each hop creates its own boundary, and refuses an explicit type.
        if case .multipart = next.body { next.headers[.contentType] = nil }
        if !isSameOrigin {
            let rules = rules.adding(request)
            for name in Set(next.headers.map(\.name)) where rules.isHeldBack(name) || name.canonicalName == "host" {
                next.headers[name] = nil
            }
        }
        return next
    }

    /// Whether an engine with a limit of redirects follows a response.
    static func isFollowed(_ response: Response, from request: WireRequest, limit: Int) -> Bool {
        limit > 0 && target(of: response, from: request) != nil
    }

    private static func target(of response: Response, from request: WireRequest) -> ServerReference? {
        guard response.status.isRedirect else { return nil }
        return target(.location, of: response.headers, from: request)
    }

    /// Returns the mistake in a response's target, for ``ActivityEvent/malformedRedirect(reason:)``; `nil` for most.
    static func oddity(of response: Response, from request: WireRequest) -> String? {
        guard response.status.isRedirect else { return nil }
        guard !response.headers.isContradictory(.location) else {
            return "\(request.url.originText) answered with several Locations that differ: not followed"
        }
        guard let target = target(of: response, from: request), target.hadUserInfo else { return nil }
        return "\(request.url.originText) answered with a Location that has user info: followed without it"
    }

    /// Returns the target of a `Location` or `Content-Location`; `nil` if there is none.
    static func target(_ name: HTTPField.Name, of headers: HTTPFields, from request: WireRequest) -> ServerReference? {
        headers.single(name).flatMap { ServerReference($0, from: request.sentURL) }
    }

    /// Whether the next request is a GET or HEAD, without the body.
    static func dropsBody(status: Int, method: HTTPRequest.Method) -> Bool {
        status == 303 || (method == .post && (status == 301 || status == 302))
    }
}

extension WireRequest {
    /// The URL that is sent, without secrets that are filled in.
    fileprivate var sentURL: String { url.text(adding: parameterItems) }

    /// The names of parameters with secrets, which a server may repeat in its redirect.
    fileprivate var secretParameters: [String] {
        parameterCredentials.compactMap { if case .parameter(let name) = $0.place { name } else { nil } }
    }

    /// The names of parameters and headers with secrets.
    var secretPlaces: [String] {
        guard !credentials.isEmpty || hasRules else { return [] }
        return credentials.map { credential in
            switch credential.place {
            case .parameter(let name): name
            case .header(let name, _): name.canonicalName
            }
        } + filledHeaders
    }

    /// Whether the request has credentials that are not sent to another origin. Those that are filled in later do not
    /// count, because the key has their names.
    func hasCredentials(_ rules: KeyRules) -> Bool {
        let rules = rules.adding(self)
        return headers.contains { rules.isHeldBack($0.name) }
    }
}

extension WireRequest {
    /// Whether the request has parameters that an identity replaces in the key.
    func hasReplacedItems(_ rules: KeyRules) -> Bool {
        let rules = rules.adding(self)
        return !filledItems.isEmpty || items.items.contains { rules.isReplaced(parameter: $0.name.span) }
    }
}

extension KeyRules {
    /// Whether a header is a credential for one origin. An `Idempotency-Key` is none: requests with a key are sent
    /// again, and without it another origin would act twice.
    fileprivate func isHeldBack(_ name: HTTPField.Name) -> Bool { isCredential(name) && !name.isIdempotencyKey }
}
