public import Foundation

/// The state of an observed query (``Engine/updates(_:every:on:)-(Call,_,_)``).
public struct QueryState<Value: Sendable>: Sendable {
    /// The newest value; `nil` until there is one. It stays during a fetch, and after one that fails.
    public internal(set) var value: Value?
    /// The response that the value was made from; `nil` until there is a value.
    public internal(set) var response: Response?
    /// The time when the server made or confirmed the value, computed from the response's `Age` (RFC 9111 section
    /// 4.2.3); `nil` until there is a value.
    public internal(set) var date: Date?
    /// The error of the last fetch; `nil` if it has succeeded. A status other than 2xx is the error `badStatus`. If a
    /// policy such as `networkElseCache` served the stored response instead, there are both an error and a value.
    public internal(set) var error: ConnectionError?
    /// Whether a fetch is under way.
    public internal(set) var isFetching: Bool

    /// Creates a state, for previews and tests.
    public init(
        value: Value? = nil, response: Response? = nil, date: Date? = nil, error: ConnectionError? = nil,
        isFetching: Bool = false
    ) {
        self.value = value
        self.response = response
        self.date = date
        self.error = error
        self.isFetching = isFetching
    }

    /// The source of the value: the server, or the cache; `nil` until there is a value.
    public var source: Response.Source? { response?.source }
}
