/// What an exchange is to send, how often, and whom it tells.
struct ExchangeOrder: Sendable {
    var request: TransportRequest
    let policy: RetryPolicy
    /// Scheme, host and port, whose budget pays for repetitions.
    let origin: String
    /// `nil` where nobody can make its credentials anew.
    let renewal: Renewal?
    /// What its attempts are counted in.
    let scope: ActivityScope
    let hear: @Sendable (ExchangeEvent) -> Void
    /// Bytes of a body at most.
    let bodyLimit: Int
    /// On whose behalf it is sent; `nil` where nobody knows.
    var identity: String?
    /// Whether a redirect has led it away from the origin that was asked.
    var isForeign = false
    /// Whether an answer whose transfer breaks is gone on with, as far as that depends on the request.
    var isContinuable = false
    /// Keeps what has been received; `nil` where nobody asks for it behind this exchange.
    var keeper: (any PartialKeeping)?
    /// Where the body of a successful answer goes piece by piece; `nil` where it is collected.
    var pouring: Pouring?

    /// How its request gets newer credentials.
    struct Renewal: Sendable {
        /// Whether they may be made anew at this time.
        let isAllowed: @Sendable () -> Bool
        /// The request with newer ones.
        let request: @Sendable () async throws(ConnectionError) -> TransportRequest
    }
}
