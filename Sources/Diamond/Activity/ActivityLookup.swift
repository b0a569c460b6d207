public import HTTPTypes

/// A request that was looked up in the cache, reported by ``ActivityEvent/hit(_:_:)`` and ``ActivityEvent/miss(_:)``.
public struct ActivityLookup: Sendable {
    /// The method of the request.
    public let method: HTTPRequest.Method
    /// The lane of the request.
    public let lane: Lane
    /// The key of the entry, as `cachectl list` and `cachectl show` have it; `nil` if the request has none.
    public let key: RequestKey?
    private let writeURL: @Sendable () -> String

    init(_ request: ActivityRequest, lane: Lane, key: RequestKey?) {
        method = request.method
        self.lane = lane
        self.key = key
        writeURL = request.url
    }

    /// The URL without user info, with query items sorted by name and secret parameters masked. Computed on each
    /// access.
    public var url: String { writeURL() }
}

extension ActivityLookup: CustomStringConvertible {
    /// A one-line description, such as `GET https://h/cities`.
    public var description: String { "\(method.rawValue) \(url)" }
}
