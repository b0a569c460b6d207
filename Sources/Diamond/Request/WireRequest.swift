import Foundation
import HTTPTypes

/// A request with everything in its place: what is keyed, and what goes on the wire.
///
/// The one reading of a ``Request``: canonical form and transport both start here, so that what is sent and what
/// identifies it cannot drift apart.
struct WireRequest {
    var method: HTTPRequest.Method
    var url: RequestURL
    /// The parameters that go to the query, behind the URL's own.
    var parameterItems: [QueryItem] = []
    var headers: HTTPFields
    var body: RequestBody?
    let encoding: ParameterEncoding
    let rules: IdentityRules
    let credentials: [Credential]
    /// Headers that secrets stand in, in lower case.
    private(set) var filledHeaders: Set<String> = []
    /// Secrets that go to the query, behind the parameters.
    private(set) var filledItems: [QueryItem] = []
    let identity: String?
    let cacheKey: String?

    init(_ request: Request) throws(RequestError) {
        method = request.method
        url = try RequestURL(request.url)
        headers = request.headers
        body = request.body
        encoding = request.encoding
        rules = request.rules
        credentials = request.credentials
        identity = request.identity
        cacheKey = request.cacheKey
        try place(request.parameters, at: request.effectiveDestination)
        if let userInfo = url.userInfo, headers[.authorization] == nil {
            headers[.authorization] = BasicCredentials.header(userInfo)
        }
        for credential in credentials { try place(credential) }
        if case .multipart = body, headers[.contentType] != nil {
            throw RequestError(
                .malformedHeader, "the request has a Content-Type, which a multipart body makes itself: remove it")
        }
        if let contentType = body?.contentType, headers[.contentType] == nil { headers[.contentType] = contentType }
    }

    private mutating func place(_ parameters: Parameters, at destination: ParameterDestination) throws(RequestError) {
        guard !parameters.isEmpty else { return }
        guard destination != .query else { return parameterItems = try parameters.items(encoding) }
        guard body == nil else {
            throw RequestError(.malformedParameter, "the request has a body already: send its parameters in the query")
        }
        body = destination == .json ? .json(try parameters.object()) : .form(parameters)
    }
}

extension WireRequest {
    /// Credentials by name, to be filled in where the request is sent.
    var namedCredentials: [Credential] { credentials.filter { $0.secret.name != nil } }

    private mutating func place(_ credential: Credential) throws(RequestError) {
        switch credential.secret.content {
        case .named: if case .header(let name, _) = credential.place { headers[name] = nil }
        case .value(let value): try fill(credential, with: value)
        }
    }

    /// Puts a secret's value in its place, and remembers that it is one, whatever it is called there.
    mutating func fill(_ credential: Credential, with value: String) throws(RequestError) {
        switch credential.place {
        case .header(let name, let prefix):
            headers[name] = nil
            headers.append(try HTTPField(checking: name.rawName, prefix + value))
            filledHeaders.insert(name.canonicalName)
        case .parameter(let name):
            let encoded = PercentEncoding.encode(value.utf8)
            filledItems.append(QueryItem(name: PercentEncoding.encode(name.utf8), value: encoded))
        }
    }

    /// Those that a redirect within the origin takes along: a server that wants a parameter again says so.
    var headerCredentials: [Credential] {
        credentials.filter { if case .header = $0.place { true } else { false } }
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
    /// One JSON object; a repeated name becomes an array of its values, in order.
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
    var isSafe: Bool { [.get, .head, .options, .trace, .query].contains(self) }
}
