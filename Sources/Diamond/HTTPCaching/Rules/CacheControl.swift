package import HTTPTypes

/// The directives of the `Cache-Control` field of a request or response (RFC 9111 section 5.2), with those of RFC 5861
/// and RFC 8246.
///
/// Names are compared without case. Arguments are tokens or quoted strings. If a directive with seconds is repeated,
/// the first counts. Seconds that cannot be read count as 0, which makes a response stale (section 4.2.1). All
/// durations are in seconds.
package struct CacheControl: Equatable, Sendable {
    // MARK: Of requests and responses

    /// The lifetime of a response; in a request, the greatest age that the client accepts.
    package var maxAge: Int64?
    /// The staleness up to which the response is served instead of an error (RFC 5861 section 4).
    package var staleIfError: Int64?
    package var noStore = false
    /// `no-cache` without field names: no reuse without validation.
    package var noCache = false
    package var noTransform = false

    // MARK: Of requests

    /// The staleness that the client accepts; ``anyStaleness`` if the directive has no argument.
    package var maxStale: Int64?
    /// The time for which the response has to stay fresh.
    package var minFresh: Int64?
    package var onlyIfCached = false

    // MARK: Of responses

    /// The lifetime in shared caches, instead of ``maxAge``.
    package var sharedMaxAge: Int64?
    /// The staleness up to which the response is served while it is validated (RFC 5861 section 3).
    package var staleWhileRevalidate: Int64?
    /// `private` without field names: not for shared caches.
    package var isPrivate = false
    package var isPublic = false
    package var mustRevalidate = false
    package var mustUnderstand = false
    package var proxyRevalidate = false
    /// The response does not change while it is fresh (RFC 8246).
    package var isImmutable = false
    /// The fields that `no-cache` names, in lower case. They are not reused without validation.
    package var noCacheFields: [String] = []
    /// The fields that `private` names, in lower case. They are not for shared caches.
    package var privateFields: [String] = []

    /// Whether the directives are those of a targeted field. Then `Expires` does not count (RFC 9213 section 2.2).
    package var isTargeted = false

    /// A number of seconds that no staleness exceeds, and that fits into milliseconds.
    static let anyStaleness = Int64.max / 1000

    /// Reads the directives of a request; `nil` if it has none. `Pragma: no-cache` counts as `no-cache` if there is no
    /// `Cache-Control` (RFC 9111 section 5.4).
    init?(ofRequest headers: HTTPFields) {
        if headers.contains(.cacheControl) {
            self.init(headers)
        } else if headers.contains(.pragma),
            headers[values: .pragma].contains(where: { $0.listElements.contains("no-cache") })
        {
            self.init([:])
            noCache = true
        } else {
            return nil
        }
    }

    package init(_ headers: HTTPFields) {
        for field in headers where field.name == .cacheControl {
            field.value.withBytes { add(list: $0) }
        }
    }
}

extension HTTPField.Name {
    /// `Pragma`, which preceded `Cache-Control`.
    fileprivate static let pragma = HTTPField.Name("Pragma") ?? .cacheControl
}
