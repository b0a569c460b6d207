public import Foundation
public import HTTPTypes

/// A response: status, headers, body and source.
public struct Response: Hashable, Sendable {
    /// The source of a response.
    public enum Source: String, Hashable, Sendable, CaseIterable {
        /// The server sent the response for this request.
        case network
        /// The cache had a fresh response, and no request was sent. Or, under `networkElseCache`, all attempts have
        /// failed: ``Response/attempts`` then lists them.
        case cache
        /// The cache had the response, and the server confirmed it (304).
        case revalidated
        /// The engine generated the response (status 504). Nothing that may be served was stored, and the policy or the
        /// request forbids using the network.
        case generated
        /// The cache had a stale response, and the policy, the request or the server allows serving it.
        case stale
    }

    private struct Content: Hashable, Sendable {
        var status: HTTPResponse.Status
        var headers: HTTPFields
        var body: Data
        var source: Source
        var url: String
        var attempts: [Attempt] = []
        var cacheStatus: CacheStatus?
        @NotCompared var metrics: ExchangeMetrics?
        @NotCompared var facts = Facts()
    }

    /// The facts about a response that only the engine needs.
    struct Facts: Sendable {
        /// The failure of the server in place of which the cache has answered; `nil` if nothing has failed.
        var failure: (any Error)?
        /// The secret values of the request, if the response has a problem that may repeat them.
        var secrets = IndirectOptional<SecretValues>.none
        /// The exchange that the response is from; `nil` unless queries of an engine without a cache are observed.
        var exchange: ExchangeMark?
        /// The decoder of the engine that returns the response; `nil` for a response of no engine.
        var decoder: SharedDecoder?
    }

    // In one reference, because every step of a request copies the response.
    private var content: CopyOnWrite<Content>

    /// The status. For a response that the server confirmed (304), it is the stored status.
    public var status: HTTPResponse.Status {
        get { content.value.status }
        _modify { yield &content.value.status }
    }

    /// The headers. A response from the cache has `Age`, and in an app no `Set-Cookie`.
    public var headers: HTTPFields {
        get { content.value.headers }
        _modify { yield &content.value.headers }
    }

    /// The whole body, with its content coding removed.
    public var body: Data {
        get { content.value.body }
        _modify { yield &content.value.body }
    }

    /// The source of the response.
    public var source: Source {
        get { content.value.source }
        _modify { yield &content.value.source }
    }

    /// The URL of the response, after redirects, without user info.
    public var url: String {
        get { content.value.url }
        _modify { yield &content.value.url }
    }

    /// The attempts that the request took, in order, with their reasons. Empty after a single attempt that succeeded,
    /// or whose status another attempt would not change.
    public var attempts: [Attempt] {
        get { content.value.attempts }
        _modify { yield &content.value.attempts }
    }

    /// The part of the engine's cache in the response; `nil` without a cache. The written form does not have it. The
    /// `Cache-Status` of other caches is in ``headers``.
    public internal(set) var cacheStatus: CacheStatus? {
        get { content.value.cacheStatus }
        _modify { yield &content.value.cacheStatus }
    }

    /// The measurements of the exchange with the server; `nil` if the response comes from the cache without one. They
    /// are neither compared nor written.
    public internal(set) var metrics: ExchangeMetrics? {
        get { content.value.metrics }
        _modify { yield &content.value.metrics }
    }

    /// The facts that only the engine needs. They are neither compared nor written.
    var facts: Facts {
        get { content.value.facts }
        _modify { yield &content.value.facts }
    }

    /// Creates a response, for tests, and for an ``Interceptor`` that replaces one.
    public init(
        status: HTTPResponse.Status,
        headers: HTTPFields = [:],
        body: Data = Data(),
        source: Source = .network,
        url: String = ""
    ) {
        content = CopyOnWrite(Content(status: status, headers: headers, body: body, source: source, url: url))
    }

    /// Creates a response with a body of text in UTF-8, for tests and samples.
    public init(status: HTTPResponse.Status = .ok, headers: HTTPFields = [:], text: String) {
        self.init(status: status, headers: headers, body: Data(text.utf8))
    }

    /// Returns the decoded body. JSON is read in the charset of `Content-Type`, as ``text`` is. For an optional type
    /// (`decode(City?.self)`), an empty body or a single space is `nil`.
    ///
    /// - Parameters:
    ///   - type: the type to decode.
    ///   - decoder: the decoder; `nil`, the default, uses that of the engine that returned the response
    ///     (``Engine/Configuration/decoder``), or a plain `JSONDecoder`.
    /// - Throws: the decoder's error, such as a `DecodingError`, which names the coding path.
    public func decode<Value: Decodable>(
        _ type: Value.Type,
        using decoder: (any ResponseDecoder)? = nil
    ) throws -> Value {
        try (decoder ?? standardDecoder).value(of: type, in: self)
    }

    /// The age of the response: the time since the server generated or confirmed it, as far as caches tell (`Age`, RFC
    /// 9111 section 5.1); `nil` if no cache has stored it.
    public var age: Duration? { headers.single(.age).flatMap { Int64(digits: $0) }.map { .seconds($0) } }
}

/// The identity of an exchange, which its response keeps when interceptors change it.
final class ExchangeMark: Sendable {}

extension Response: Redacted {
    /// The status, the source, and the URL without user info and query, which may be secret.
    public var description: String {
        "\(status.code) from \(source.rawValue), \(RequestURL.masked(Array(url.utf8)).dropFirst().dropLast())"
    }

    /// Names, without the values that may be secret.
    var shownMembers: KeyValuePairs<String, Any> {
        [
            "response": description, "headers": headers.map(\.name.rawName), "bodySize": body.count,
            "attempts": attempts,
        ]
    }
}
