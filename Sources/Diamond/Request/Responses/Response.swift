public import Foundation
public import HTTPTypes

/// An answer: status, headers, body, and how it was obtained.
public struct Response: Hashable, Sendable {
    /// The source of an answer.
    public enum Source: String, Hashable, Sendable, CaseIterable {
        /// The server has just sent the response.
        case network
        /// The cache had a fresh response; the server was not asked.
        case cache
        /// The cache had the response, and the server has confirmed it (304).
        case revalidated
        /// Made by the engine: nothing was stored, and the policy forbids asking (status 504).
        case generated
        /// The cache had the response, past its freshness, and the policy or a failed server asked for it.
        case stale
    }

    /// The server's status. For a confirmed answer (304), the stored one.
    public var status: HTTPResponse.Status
    /// The headers. If the answer comes from the cache, they have `Age` and no `Set-Cookie`.
    public var headers: HTTPFields
    /// The whole body, with its content coding removed.
    public var body: Data
    /// The source of the answer.
    public var source: Source
    /// The URL that answered, after redirects, without user info.
    public var url: String
    /// The exchanges that the request took, in order, with the reasons. Empty if the first was the only one.
    public var attempts: [Attempt] = []
    /// Creates a response, for tests, and for an ``Interceptor`` that replaces another.
    public init(
        status: HTTPResponse.Status,
        headers: HTTPFields = [:],
        body: Data = Data(),
        source: Source = .network,
        url: String = ""
    ) {
        self.status = status
        self.headers = headers
        self.body = body
        self.source = source
        self.url = url
    }

    /// Returns the body as a value of the caller's type. The default decoder reads JSON, in the charset that
    /// `Content-Type` names, as ``text`` does. An empty body, or a single space, is `nil` if the type is optional
    /// (`decode(City?.self)`).
    ///
    /// - Throws: the decoder's error, such as a `DecodingError`, which names the coding path.
    public func decode<Value: Decodable>(
        _ type: Value.Type,
        using decoder: any ResponseDecoder = JSONDecoder()
    ) throws -> Value {
        try decoder.value(of: type, in: self)
    }
}
