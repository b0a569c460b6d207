/// The order for an exchange: its request, its retry policy and its listener.
///
/// It is a class because every step of an exchange has it.
final class ExchangeOptions: Sendable {
    let request: TransportRequest
    let policy: RetryPolicy
    /// The origin, as scheme, host and port. Its budget pays for repetitions.
    let origin: String
    /// The way to renew its credentials; `nil` if they cannot be renewed.
    let renewal: Renewal?
    /// The scope that its attempts are counted in.
    let scope: ActivityScope
    let hear: @Sendable (ExchangeEvent) -> Void
    /// The most bytes of a body.
    let bodyLimit: Int
    /// The identity on whose behalf it is sent; `nil` if it is unknown.
    let identity: String?
    /// The rules that tell which of its fields and parameters are secret.
    let rules: KeyRules
    /// Whether a redirect has led it away from the origin that was asked.
    let isForeign: Bool
    /// Whether an answer whose transfer breaks is gone on with, as far as that depends on the request.
    let isContinuable: Bool
    /// Keeps what has been received; `nil` where nobody asks for it behind this exchange.
    let keeper: (any ResumeWriting)?
    /// The destination of a successful response's body, piece by piece; `nil` if the body is collected.
    let pouring: Pouring?
    /// The source of the request's body; `nil` if the request has it, or there is none.
    let upload: Upload?
    /// The gate that is asked before anything is sent; `nil` for none.
    let gate: SendGate?
    /// Whether the request may be sent: asked before the first and every other time. If not, its run is given up. `nil`
    /// if there is nothing to ask.
    let mayBegin: (@Sendable () -> Bool)?

    init(
        request: TransportRequest,
        policy: RetryPolicy,
        origin: String,
        renewal: Renewal?,
        scope: ActivityScope,
        hear: @escaping @Sendable (ExchangeEvent) -> Void,
        bodyLimit: Int,
        identity: String?,
        rules: KeyRules,
        isForeign: Bool,
        isContinuable: Bool,
        keeper: (any ResumeWriting)?,
        pouring: Pouring?,
        upload: Upload? = nil,
        gate: SendGate? = nil,
        mayBegin: (@Sendable () -> Bool)? = nil
    ) {
        (self.request, self.policy, self.origin, self.renewal) = (request, policy, origin, renewal)
        (self.scope, self.hear, self.bodyLimit) = (scope, hear, bodyLimit)
        (self.identity, self.rules, self.isForeign, self.isContinuable) = (identity, rules, isForeign, isContinuable)
        (self.keeper, self.pouring, self.upload) = (keeper, pouring, upload)
        (self.gate, self.mayBegin) = (gate, mayBegin)
    }

    /// The renewal of a request's credentials.
    struct Renewal: Sendable {
        /// Whether the credentials may be renewed at this time.
        let isAllowed: @Sendable () -> Bool
        /// Returns the request with newer credentials.
        let request: @Sendable () async throws(ConnectionError) -> TransportRequest
    }
}
