import HTTPTypes

/// The request that a redirect asks for (RFC 9110 section 15.4).
enum Redirect {
    /// `nil` when the response is no redirect, or its `Location` leads nowhere.
    ///
    /// 303 becomes a GET without body, and so do 301 and 302 after a POST, as every browser does; 307 and 308 repeat
    /// method and body. To another origin, credentials and `Host` do not go along. An `Idempotency-Key` does, where the
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
        let isSameOrigin = url.origin == request.url.origin
        if isSameOrigin { next.credentials = request.headerCredentials }
        next.rules.secrets += request.secretParameters
        // What was asked for with a secret of nobody's is nobody's.
        if next.identity == nil, request.parameterCredentials.contains(where: { $0.secret.name != nil }) {
            next.cache = .noStore
        }
        if dropsBody(response.status.code, request.method) {
            next.method = request.method == .head ? .head : .get
            next.body = nil
            for name in Set(next.headers.map(\.name)) where name.isOfBody || name.isIdempotencyKey {
                next.headers[name] = nil
            }
        }
        // Each hop has a boundary of its own, and refuses a type that is given.
        if case .multipart = next.body { next.headers[.contentType] = nil }
        if !isSameOrigin { next.headers.removeWhatIsForOneOrigin(rules.adding(request)) }
        return next
    }

    /// Whether an engine that follows so many goes on to another URL.
    static func isFollowed(_ response: Response, from request: WireRequest, _ limit: Int) -> Bool {
        limit > 0 && target(of: response, from: request) != nil
    }

    private static func target(of response: Response, from request: WireRequest) -> ServerReference? {
        guard response.status.isRedirect else { return nil }
        return target(.location, of: response.headers, from: request)
    }

    /// Returns the oddity of a response's target, for ``ActivityEvent/malformedRedirect(reason:)``; `nil` for most.
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

    /// Whether it is followed by a GET or HEAD, without the body.
    static func dropsBody(_ status: Int, _ method: HTTPRequest.Method) -> Bool {
        status == 303 || (method == .post && (status == 301 || status == 302))
    }
}

extension WireRequest {
    /// As it is sent, secrets apart.
    fileprivate var sentURL: String { url.text(adding: parameterItems) }

    /// Names of parameters that secrets go to: a server may say in its redirect what it was sent.
    fileprivate var secretParameters: [String] {
        parameterCredentials.compactMap { if case .parameter(let name) = $0.place { name } else { nil } }
    }

    /// Names of parameters and headers that secrets go to.
    var secretPlaces: [String] {
        guard !credentials.isEmpty || hasRules else { return [] }
        return credentials.map { credential in
            switch credential.place {
            case .parameter(let name): name
            case .header(let name, _): name.canonicalName
            }
        } + filledHeaders
    }

    /// Whether it has any that do not go along to another origin, but for those that are filled in later: a key has
    /// their names.
    func hasCredentials(_ rules: KeyRules) -> Bool {
        let rules = rules.adding(self)
        return headers.contains { rules.isHeldBack($0.name) }
    }
}

extension WireRequest {
    /// Whether it has parameters that an identity takes the place of.
    func hasReplacedItems(_ rules: KeyRules) -> Bool {
        let rules = rules.adding(self)
        return !filledItems.isEmpty || items.items.contains { rules.isReplaced(parameter: $0.name.span) }
    }
}

extension HTTPFields {
    fileprivate mutating func removeWhatIsForOneOrigin(_ rules: KeyRules) {
        for name in Set(map(\.name)) where rules.isHeldBack(name) || name.canonicalName == "host" { self[name] = nil }
    }
}

extension KeyRules {
    /// Whether a header is a credential of the origin that is asked. An `Idempotency-Key` is none: without it another origin
    /// would act twice upon what is sent again because it has one.
    fileprivate func isHeldBack(_ name: HTTPField.Name) -> Bool { isCredential(name) && !name.isIdempotencyKey }
}
