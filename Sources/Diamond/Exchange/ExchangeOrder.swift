/// What an exchange is to send, how often, and whom it tells.
struct ExchangeOrder: Sendable {
    var request: TransportRequest
    let policy: RetryPolicy
    /// Scheme, host and port, whose budget pays for repetitions.
    let origin: String
    /// `nil` where nobody can make its credentials anew.
    let renewal: Renewal?
    let hear: @Sendable (ExchangeEvent) -> Void

    /// How its request gets newer credentials.
    struct Renewal: Sendable {
        /// Whether they may be made anew at this time.
        let isAllowed: @Sendable () -> Bool
        /// The request with newer ones.
        let request: @Sendable () async throws(ConnectionError) -> TransportRequest
    }
}
