import Foundation
package import HTTPTypes

/// A request with everything in its place: the parts that are keyed, and the parts that go on the wire.
///
/// It is the only reading of a ``Request``. The canonical form and the transport both start from it, so that the
/// request sent and its identity cannot drift apart.
package struct WireRequest {
    package var method: HTTPRequest.Method
    package var url: RequestURL
    /// The URL's own items in one form, and behind them the parameters that go to the query.
    package private(set) var items: QueryItems
    package var headers: HTTPFields
    package var body: RequestBody?
    package let encoding: ParameterEncoding
    package let identity: String?
    private var extras: Extras?
}

extension WireRequest {
    package init(_ request: borrowing Request) throws(RequestError) { self = try Self.read(request) }

    /// Returns the wire form of a request. It is separate from the initializer, which would copy itself at its end:
    /// this is done for every key.
    static func read(_ request: borrowing Request) throws(RequestError) -> WireRequest {
        let url = try RequestURL(request.url)
        var (items, body) = (url.queryItems(reserving: 32 * request.parameters.count), request.body)
        try place(request.parameters, of: request, items: &items, body: &body)
        var headers = request.headers
        headers.joinCookies()
        if let userInfo = url.userInfo, headers[.authorization] == nil {
            headers[.authorization] = BasicCredentials.header(userInfo)
        }
        let extras = try Extras.of(request, placing: &headers)
        try addType(of: body, to: &headers)
        return WireRequest(
            method: request.method, url: url, items: items, headers: headers, body: body,
            encoding: request.encoding, identity: request.identity, extras: extras
        )
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
        guard destination != .query else { return try parameters.append(to: &items, request.encoding) }
        guard body == nil else {
            throw RequestError(.malformedParameter, "the request has a body already: send its parameters in the query")
        }
        body = destination == .json ? .json(try parameters.object()) : .form(parameters)
    }
}

extension WireRequest {
    /// The parameters that go to the query, behind the URL's own.
    package var parameterItems: QueryItems { items.dropping(url.queryItems()) }

    /// The request's own rules, in addition to the engine's.
    var rules: IdentityRules { extras?.fields.rules ?? IdentityRules() }

    /// The key that takes the place of the rest of the request in its identity.
    package var cacheKey: String? { extras?.fields.cacheKey }

    package var credentials: [Credential] { extras?.fields.credentials ?? [] }

    /// The credentials with named secrets, which are filled in when the request is sent.
    package var namedCredentials: [Credential] { credentials.filter { $0.secret.name != nil } }

    /// Puts a secret's value in its place, and remembers that it is one, whatever it is called there.
    mutating func fill(_ credential: Credential, with value: String) throws(RequestError) {
        var fields = extras?.fields ?? Extras.Fields()
        try fields.secrets.fill(credential, with: value, in: &headers)
        extras = .fields(fields)
    }

    /// Headers that secrets stand in, in lower case.
    var filledHeaders: Set<String> { extras?.fields.secrets.headers ?? [] }

    /// Secrets that go to the query, behind the parameters.
    package var filledItems: QueryItems { extras?.fields.secrets.items ?? QueryItems() }

    /// Whether it brings rules of its own.
    var hasRules: Bool { extras != nil && !(rules.isEmpty && filledHeaders.isEmpty) }

    /// The credentials in parameters, which no redirect takes along.
    var parameterCredentials: [Credential] {
        credentials.filter { if case .parameter = $0.place { true } else { false } }
    }

    /// The credentials in headers, which a redirect within the origin takes along. A server that wants a parameter
    /// again says so.
    var headerCredentials: [Credential] {
        credentials.filter { if case .header = $0.place { true } else { false } }
    }
}

/// The properties that few requests have.
// Indirect, because all are copied and taken apart for their keys.
private indirect enum Extras {
    struct Fields {
        var rules = IdentityRules()
        var cacheKey: String?
        var credentials: [Credential] = []
        var secrets = FilledSecrets()
    }

    case fields(Fields)

    var fields: Fields {
        switch self {
        case .fields(let fields): fields
        }
    }

    /// Returns the extras of a request; `nil` if it has none.
    @inline(__always)
    static func of(_ request: borrowing Request, placing headers: inout HTTPFields) throws(RequestError) -> Extras? {
        guard !request.rules.isEmpty || request.cacheKey != nil || !request.credentials.isEmpty else { return nil }
        return try reading(request, &headers)
    }

    @inline(never)
    private static func reading(_ request: Request, _ headers: inout HTTPFields) throws(RequestError) -> Extras {
        var fields = Fields(rules: request.rules, cacheKey: request.cacheKey, credentials: request.credentials)
        for credential in fields.credentials { try fields.secrets.place(credential, in: &headers) }
        return .fields(fields)
    }
}

/// The places where secrets have been filled in.
private struct FilledSecrets {
    private(set) var headers: Set<String> = []
    private(set) var items = QueryItems()

    mutating func place(_ credential: Credential, in fields: inout HTTPFields) throws(RequestError) {
        switch credential.secret.content {
        case .named: if case .header(let name, _) = credential.place { fields[name] = nil }
        case .value(let value): try fill(credential, with: value, in: &fields)
        }
    }

    mutating func fill(
        _ credential: Credential,
        with value: String,
        in fields: inout HTTPFields
    ) throws(RequestError) {
        switch credential.place {
        case .header(let name, let prefix):
            fields[name] = nil
            fields.append(try HTTPField(checking: name.rawName, prefix + value))
            headers.insert(name.canonicalName)
        case .parameter(let name): items.append(encoding: name, value)
        }
    }
}

extension Request {
    /// ``destination``, with `automatic` decided.
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
    /// Returns one JSON object. A repeated name becomes an array of its values, in order.
    ///
    /// - Throws: where two names are one to Unicode and two to a server, which a Swift dictionary cannot hold.
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
    /// Whether sending it again can have no second effect (RFC 9110 section 9.2.1; RFC 10008 section 2).
    var isSafe: Bool { isCacheable || self == .options || self == .trace }

    /// Whether its answers are kept.
    var isCacheable: Bool { self == .get || self == .head || self == .query }

    /// Whether sending it twice has the effect of sending it once (RFC 9110 section 9.2.2).
    var isIdempotent: Bool { isSafe || self == .put || self == .delete }
}
