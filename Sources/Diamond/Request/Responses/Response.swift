public import Foundation
public import HTTPTypes

/// An answer: status, headers, body, and how it was obtained.
public struct Response: Hashable, Sendable {
    /// How an answer was obtained.
    public enum Source: String, Hashable, Sendable, CaseIterable {
        /// From the server, just now.
        case network
        /// From the cache, fresh, without a word to the server.
        case cache
        /// From the cache, after the server confirmed it (304).
        case revalidated
        /// Made by the engine: nothing was stored, and the policy forbids asking (status 504).
        case generated
        /// From the cache, past its freshness, because the policy or a failed server asked for it.
        case stale
    }

    /// The server's; of a confirmed answer (304), what is stored.
    public var status: HTTPResponse.Status
    /// With `Age` where it comes from the cache; without `Set-Cookie` there.
    public var headers: HTTPFields
    /// The whole body, with its content coding removed.
    public var body: Data
    /// How it was obtained.
    public var source: Source
    /// The URL that answered, after redirects, without user info.
    public var url: String
    /// The exchanges that it took, in order, with the reasons; empty where the first was all.
    public var attempts: [Attempt] = []
    /// For tests, and for what an ``Interceptor`` puts in place of another.
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

    /// The body as a value of the caller's type; JSON, if nothing is said, read by the charset that `Content-Type` names as
    /// ``text`` is. An empty body, or a single space, is `nil` where the type is optional (`decode(City?.self)`).
    ///
    /// - Throws: what the decoder throws: `DecodingError`, which names the coding path.
    public func decode<Value: Decodable>(
        _ type: Value.Type,
        using decoder: any ResponseDecoder = JSONDecoder()
    ) throws -> Value {
        try decoder.value(of: type, in: self)
    }
}
