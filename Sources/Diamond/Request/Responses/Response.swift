public import Foundation
public import HTTPTypes

/// A response: status, headers, body and source.
public struct Response: Hashable, Sendable {
    /// The source of a response.
    public enum Source: String, Hashable, Sendable, CaseIterable {
        /// The server sent the response for this request.
        case network
        /// The cache had a fresh response, and no request was sent.
        case cache
        /// The cache had the response, and the server confirmed it (304).
        case revalidated
        /// The engine generated the response (status 504). Nothing that may be served was stored, and the policy or the
        /// request forbids using the network.
        case generated
        /// The cache had a stale response, and the policy, the request or the server allows serving it.
        case stale
    }

    /// The status. For a response that the server confirmed (304), it is the stored status.
    public var status: HTTPResponse.Status
    /// The headers. A response from the cache has `Age`, and in an app no `Set-Cookie`.
    public var headers: HTTPFields
    /// The whole body, with its content coding removed.
    public var body: Data
    /// The source of the response.
    public var source: Source
    /// The URL of the response, after redirects, without user info.
    public var url: String
    /// The attempts that the request took, in order, with their reasons. Empty after a single attempt that succeeded,
    /// or whose status another attempt would not change.
    public var attempts: [Attempt] = []
    /// The part of the engine's cache in the response; `nil` without a cache. The written form does not have it. The
    /// `Cache-Status` of other caches is in ``headers``.
    public internal(set) var cacheStatus: CacheStatus?

    /// Creates a response, for tests, and for an ``Interceptor`` that replaces one.
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

    /// Returns the decoded body. The default decoder reads JSON in the charset of `Content-Type`, as ``text`` does. For
    /// an optional type (`decode(City?.self)`), an empty body or a single space is `nil`.
    ///
    /// - Throws: the decoder's error, such as a `DecodingError`, which names the coding path.
    public func decode<Value: Decodable>(
        _ type: Value.Type,
        using decoder: any ResponseDecoder = JSONDecoder()
    ) throws -> Value {
        try decoder.value(of: type, in: self)
    }
}
