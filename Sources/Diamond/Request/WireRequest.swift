import Foundation
package import HTTPTypes

/// A request with its parameters, credentials and headers placed, as it is keyed and sent.
///
/// The canonical form and the transport both start from this value, so that the sent request always matches its key.
package struct WireRequest {
    package var method: HTTPRequest.Method
    package var url: RequestURL
    /// The normalized items of the URL, followed by the parameters that are sent in the query.
    package private(set) var items: QueryItems
    package var headers: HTTPFields
    package var body: RequestBody?
    package let encoding: ParameterEncoding
    package let identity: String?
    /// Whether the credential provider has named ``identity``.
    let hasProvidedIdentity: Bool
    private var extras: IndirectOptional<Extras>

    /// - Parameter request: the request that the other values were read from.
    @inline(__always)
    private init(
        _ request: borrowing Request,
        url: RequestURL,
        items: QueryItems,
        headers: HTTPFields,
        body: RequestBody?,
        extras: IndirectOptional<Extras>
    ) {
        method = request.method
        self.url = url
        self.items = items
        self.headers = headers
        self.body = body
        encoding = request.encoding
        identity = request.identity
        hasProvidedIdentity = request.hasProvidedIdentity
        self.extras = extras
    }
}

extension WireRequest {
    package init(_ request: borrowing Request) throws(RequestError) { self = try Self.read(request) }

    /// Returns the wire form of a request. It is not an initializer, because that would copy the whole value for every
    /// key.
    static func read(_ request: borrowing Request) throws(RequestError) -> WireRequest {
        let url = try RequestURL(request.url)
        var items = url.queryItems(reserving: 32 * request.parameters.count)
        var body = request.body
        try place(request.parameters, of: request, items: &items, body: &body)
        var headers = request.headers
        headers.joinCookies()
        if let userInfo = url.userInfo, headers[.authorization] == nil {
            headers[.authorization] = BasicCredentials.header(userInfo)
        }
        let extras = try Extras.of(request, placing: &headers)
        try addType(of: body, to: &headers)
        return WireRequest(request, url: url, items: items, headers: headers, body: body, extras: extras)
    }

    private static func addType(of body: RequestBody?, to headers: inout HTTPFields) throws(RequestError) {
        guard let body else { return }
        if case .multipart = body, headers[.contentType] != nil {
            throw RequestError(
                .malformedHeader, "the request has a Content-Type, which a multipart body makes itself: remove it")
        }
        if let contentType = body.contentType, headers[.contentType] == nil { headers[.contentType] = contentType }
    }

    private static func place(
        _ parameters: Parameters,
        of request: Request,
        items: inout QueryItems,
        body: inout RequestBody?
    ) throws(RequestError) {
        guard !parameters.isEmpty else { return }
        let destination = request.effectiveDestination
        guard destination != .query else { return try parameters.append(to: &items, using: request.encoding) }
        guard body == nil else {
            throw RequestError(.malformedParameter, "the request has a body already: send its parameters in the query")
        }
        body = destination == .json ? .json(try parameters.object()) : .form(parameters)
    }
}

extension WireRequest {
    /// The parameters that are sent in the query, after the URL's own items.
    package var parameterItems: QueryItems { items.dropping(url.queryItems()) }

    /// The request's identity rules, in addition to the engine's.
    var rules: IdentityRules { extras.value?.rules ?? IdentityRules() }

    /// The app's key, which replaces the rest of the request in its key.
    package var cacheKey: String? { extras.value?.cacheKey }

    package var credentials: [Credential] { extras.value?.credentials ?? [] }

    /// The credentials with named secrets, which are filled in when the request is sent.
    package var namedCredentials: [Credential] { credentials.filter { $0.secret.name != nil } }

    /// Fills in the value of a secret, and records that it is secret, whatever the name of its place.
    mutating func fill(_ credential: Credential, with value: String) throws(RequestError) {
        var filled = extras.value ?? Extras()
        try filled.secrets.fill(credential, with: value, in: &headers)
        extras = .some(filled)
    }

    /// The headers that contain filled-in secrets, in lower case.
    var filledHeaders: Set<String> { extras.value?.secrets.headers ?? [] }

    /// The secrets that are sent in the query, after the parameters.
    package var filledItems: QueryItems { extras.value?.secrets.items ?? QueryItems() }

    /// The values of the filled-in secrets.
    var filledValues: [String] { extras.value?.secrets.values ?? [] }

    /// Whether the request has rules of its own.
    var hasRules: Bool { extras.value != nil && !(rules.isEmpty && filledHeaders.isEmpty) }

    /// The credentials in parameters, which are not sent to the target of a redirect.
    var parameterCredentials: [Credential] {
        credentials.filter { if case .parameter = $0.place { true } else { false } }
    }

    /// Whether the identity replaces the credentials of the request in its key. One that the credential provider has
    /// named does not: the request may have a credential of another user.
    var replacesCredentials: Bool { identity != nil && !hasProvidedIdentity }

    /// Whether `Authorization` is sent.
    var isAuthorized: Bool {
        headers.contains(.authorization)
            || credentials.contains { if case .header(.authorization, _) = $0.place { true } else { false } }
    }

    /// The credentials in headers, which are also sent to the target of a redirect within the origin.
    var headerCredentials: [Credential] {
        credentials.filter { if case .header = $0.place { true } else { false } }
    }
}

/// The properties that few requests have.
private struct Extras {
    var rules = IdentityRules()
    var cacheKey: String?
    var credentials: [Credential] = []
    var secrets = FilledSecrets()

    /// Returns the extras of a request, if it has any.
    @inline(__always)
    static func of(
        _ request: borrowing Request,
        placing headers: inout HTTPFields
    ) throws(RequestError) -> IndirectOptional<Extras> {
        guard !request.rules.isEmpty || request.cacheKey != nil || !request.credentials.isEmpty else { return .none }
        return try reading(request, placing: &headers)
    }

    @inline(never)
    private static func reading(
        _ request: Request,
        placing headers: inout HTTPFields
    ) throws(RequestError) -> IndirectOptional<Extras> {
        var extras = Extras(rules: request.rules, cacheKey: request.cacheKey, credentials: request.credentials)
        for credential in extras.credentials { try extras.secrets.place(credential, in: &headers) }
        return .some(extras)
    }
}

/// The secrets that were filled in, and their places.
private struct FilledSecrets {
    private(set) var headers: Set<String> = []
    private(set) var items = QueryItems()
    private(set) var values: [String] = []

    mutating func place(_ credential: Credential, in fields: inout HTTPFields) throws(RequestError) {
        switch credential.secret.kind {
        case .named: if case .header(let name, _) = credential.place { fields[name] = nil }
        case .value(let value): try fill(credential, with: value, in: &fields)
        }
    }

    mutating func fill(
        _ credential: Credential,
        with value: String,
        in fields: inout HTTPFields
    ) throws(RequestError) {
        values.append(value)
        switch credential.place {
        case .header(let name, let prefix):
            fields[name] = nil
            fields.append(try HTTPField(checking: name.rawName, prefix + value))
            headers.insert(name.canonicalName)
        case .parameter(let name): items.append(encoding: name, value: value)
        }
    }
}

extension Request {
    /// Returns the URL that the request is sent to, without named secrets, for this package's other targets.
    ///
    /// - Parameter baseURL: the URL that a relative one is resolved against.
    package func sentURL(within baseURL: String?) throws(RequestError) -> String {
        var request = self
        do throws(MalformedURL) { request.url = try resolvedURL(within: baseURL) } catch { throw RequestError(error) }
        let wire = try WireRequest(request)
        return wire.url.text(adding: wire.parameterItems)
    }

    /// Returns the URL, resolved against a base URL if there is one.
    func resolvedURL(within baseURL: String?) throws(MalformedURL) -> String {
        guard let baseURL else { return url }
        return try RequestURL.resolve(url, within: baseURL)
    }

    /// The ``destination``, with `automatic` resolved.
    var effectiveDestination: ParameterDestination {
        guard destination == .automatic else { return destination }
        guard body == nil else { return .query }
        return switch method {
        case .get, .head, .delete, .query: .query
        default: .form
        }
    }
}

extension Parameters {
    /// Returns a JSON object. A repeated name becomes an array of its values, in order.
    ///
    /// - Throws: ``RequestError`` for two names that are equal in Swift but differ in bytes, which a dictionary cannot
    ///   hold.
    func object() throws(RequestError) -> JSONValue {
        let grouped = Dictionary(grouping: self, by: \.name)
        for (name, group) in grouped where !group.allSatisfy({ $0.name.utf8.elementsEqual(group[0].name.utf8) }) {
            throw RequestError(
                .malformedParameter,
                "the parameter '\(name)' is written in two ways that look the same: write it in one")
        }
        return .object(grouped.mapValues { $0.count == 1 ? $0[0].value : .array($0.map(\.value)) })
    }
}

extension HTTPRequest.Method {
    /// Whether the method is safe (RFC 9110 section 9.2.1; RFC 10008 section 2).
    var isSafe: Bool { isCacheable || self == .options || self == .trace }

    /// Whether responses to the method can be cached.
    var isCacheable: Bool { self == .get || self == .head || self == .query }

    /// Whether the method is idempotent (RFC 9110 section 9.2.2).
    var isIdempotent: Bool { isSafe || self == .put || self == .delete }
}
