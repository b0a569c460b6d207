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

    init(_ request: Request) throws(RequestError) {
        method = request.method
        url = try RequestURL(request.url)
        headers = request.headers
        body = request.body
        encoding = request.encoding
        try place(request.parameters, at: request.effectiveDestination)
        if let userInfo = url.userInfo, headers[.authorization] == nil {
            headers[.authorization] = BasicCredentials.header(userInfo)
        }
        if let contentType = body?.contentType, headers[.contentType] == nil { headers[.contentType] = contentType }
    }

    private mutating func place(_ parameters: Parameters, at destination: ParameterDestination) throws(RequestError) {
        guard !parameters.isEmpty else { return }
        guard destination != .query else { return parameterItems = try parameters.items(encoding) }
        guard body == nil else {
            throw RequestError(.malformedParameter, "the request has a body already: send its parameters in the query")
        }
        body = destination == .json ? .json(parameters.object) : .form(parameters)
    }
}

extension Request {
    /// ``destination``, with `automatic` decided.
    var effectiveDestination: ParameterDestination {
        guard destination == .automatic else { return destination }
        let takesQuery: Set<HTTPRequest.Method> = [.get, .head, .delete, .query]
        return body != nil || takesQuery.contains(method) ? .query : .form
    }
}

extension Parameters {
    /// One JSON object; a repeated name becomes an array of its values, in order.
    var object: JSONValue {
        let grouped = Dictionary(grouping: self, by: \.name)
        return .object(grouped.mapValues { $0.count == 1 ? $0[0].value : .array($0.map(\.value)) })
    }
}

extension HTTPRequest.Method {
    /// Whether sending it again can have no second effect (RFC 9110 section 9.2.1; RFC 10008 section 2).
    var isSafe: Bool { [.get, .head, .options, .trace, .query].contains(self) }
}
