/// The cache's part in a response, as the `Cache-Status` field tells it (RFC 9211).
///
/// ```swift
/// let status = response.cacheStatus?.description  // "Diamond; hit; ttl=30"
/// ```
public struct CacheStatus: Hashable, Sendable {
    /// The reason why a request was sent to the server, instead of being answered from the cache (RFC 9211 section
    /// 2.2). The raw value is the token of the field.
    public enum ForwardReason: String, Hashable, Sendable, CaseIterable {
        /// The policy of the app, or an unknown user, keeps the request from the cache.
        case bypass
        /// The cache answers no request with this method.
        case method
        /// No response is stored for the URL.
        case uriMiss = "uri-miss"
        /// The responses stored for the URL were selected by other headers.
        case varyMiss = "vary-miss"
        /// No stored response can be used.
        case miss
        /// A fresh response is stored, but the request or its policy demands the server's response.
        case request
        /// The stored response is stale, or may not be used without validation.
        case stale
        /// Only a part of the response is stored.
        case partial
    }

    /// The reason why the request was sent; `nil` if it was not sent.
    public internal(set) var forwardReason: ForwardReason?
    /// Whether the response was stored.
    public internal(set) var isStored = false
    /// Whether the response is that of another request, which was under way.
    var isCollapsed = false
    /// Whether the cache has answered, and no request was sent.
    public internal(set) var isHit = false
    private var status: Int16?
    private var ttl: Int32?
    /// A note for people, such as that nothing is stored; mostly `nil`.
    var detail: String?

    /// The server's status, if the response has another one: 304 for a confirmed response, or for example 503 if a
    /// stored response was served instead of the error.
    var forwardStatus: Int? {
        get { status.map { Int($0) } }
        set { status = newValue.map { Int16(clamping: $0) } }
    }

    /// The seconds for which the response is still fresh; negative if it is stale, `nil` if it is not stored.
    var timeToLive: Int? {
        get { ttl.map { Int($0) } }
        set { ttl = newValue.map { Int32(clamping: $0) } }
    }

    init(forwardReason: ForwardReason? = nil) { self.forwardReason = forwardReason }

    /// Returns the status as a member of the field `Cache-Status`.
    ///
    /// - Parameter cache: the name of the cache.
    package func member(for cache: String) -> String {
        let isToken = cache.utf8.first?.isASCIILetter == true && cache.utf8.allSatisfy(\.isTokenCharacter)
        var parts = [isToken ? cache : StructuredField.quoted(cache)]
        if isHit { parts.append("hit") }
        if let forwardReason { parts.append("fwd=\(forwardReason.rawValue)") }
        if let forwardStatus { parts.append("fwd-status=\(forwardStatus)") }
        if let timeToLive { parts.append("ttl=\(timeToLive)") }
        if isStored { parts.append("stored") }
        if isCollapsed { parts.append("collapsed") }
        if let detail { parts.append("detail=\(StructuredField.quoted(detail))") }
        return parts.joined(separator: "; ")
    }
}

extension CacheStatus: CustomStringConvertible {
    /// The status as a member of the field `Cache-Status`, for a cache named `Diamond`.
    public var description: String { member(for: "Diamond") }
}
