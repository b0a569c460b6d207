/// The measurements of a response's exchange. After redirects, they are those of the last exchange.
public struct ExchangeMetrics: Hashable, Sendable {
    /// The number of attempts, at least 1.
    public internal(set) var attempts = 1
    /// The time from the start of the first attempt to the end of the response's body, with the delays between
    /// attempts.
    public internal(set) var duration: Duration
    /// The time from the start of the last attempt until the status and the headers were received.
    public internal(set) var timeToFirstByte: Duration
    /// The number of bytes of the request's body that were sent.
    public internal(set) var sent: Int64
    /// The number of bytes of the response's body, without content coding; 0 for a confirmed response (304).
    public internal(set) var received: Int64
    /// Whether the last attempt was sent over a connection that was open already; `nil` if the transport does not
    /// report it. ``CurlTransport`` does.
    public internal(set) var isConnectionReused: Bool?
}
