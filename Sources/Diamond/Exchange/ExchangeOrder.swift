/// What an exchange is to send, how often, and whom it tells.
struct ExchangeOrder: Sendable {
    var request: TransportRequest
    let policy: RetryPolicy
    /// Scheme, host and port, whose budget pays for repetitions.
    let origin: String
    /// Of the way back to the wire.
    let priority: FlightPriority
    /// Makes the request with a credential that was made anew; `nil` where nobody can.
    let renew: (@Sendable () async throws(ConnectionError) -> TransportRequest)?
    let hear: @Sendable (ExchangeEvent) -> Void
}
