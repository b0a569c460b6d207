public import HTTPTypes

/// A request that was looked up in the cache, reported by ``ActivityEvent/hit(_:_:)`` and ``ActivityEvent/miss(_:)``.
public struct ActivityLookup: Sendable {
    /// The lane of the request.
    public let lane: Lane
    /// The key of the entry, as `cachectl list` and `cachectl show` have it; `nil` if the request has none.
    public let key: RequestKey?
    let request: ActivityRequest

    /// The method of the request.
    public var method: HTTPRequest.Method { request.method }
    /// The URL without user info, with query items sorted by name and secret parameters masked. Computed on each
    /// access.
    public var url: String { request.url() }
}

extension ActivityLookup: CustomStringConvertible {
    /// A one-line description, such as `GET https://h/cities`.
    public var description: String { "\(method.rawValue) \(url)" }
}
