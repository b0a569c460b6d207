public import HTTPTypes

/// The response to a typed call: the decoded value with the response that it comes from.
///
/// ```swift
/// let response = try await engine.response(to: ListCities(country: "DE"))
/// print(response.value.items.count, response.source, response.age ?? .zero, response.metrics?.timeToFirstByte ?? .zero)
/// ```
public struct TypedResponse<Value: Sendable>: Sendable {
    /// The decoded body.
    public let value: Value
    /// The response with the undecoded body.
    public let response: Response

    /// Creates a response, for tests and previews.
    public init(_ value: Value, response: Response) {
        self.value = value
        self.response = response
    }

    /// The status, one of 2xx.
    public var status: HTTPResponse.Status { response.status }
    /// The headers.
    public var headers: HTTPFields { response.headers }
    /// The source: the server, or the cache.
    public var source: Response.Source { response.source }
    /// The age that caches report; `nil` if no cache has stored the response.
    public var age: Duration? { response.age }
    /// The measurements of the exchange; `nil` if the response comes from the cache without an exchange.
    public var metrics: ExchangeMetrics? { response.metrics }
}
