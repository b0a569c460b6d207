/// What an exchange is to send, how often, and whom it tells.
///
/// A class, because every step of an exchange has it.
final class ExchangeOrder: Sendable {
    let request: TransportRequest
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
    let identity: String?
    /// Which of its fields and parameters are secret.
    let rules: KeyRules
    /// Whether a redirect has led it away from the origin that was asked.
    let isForeign: Bool
    /// Whether an answer whose transfer breaks is gone on with, as far as that depends on the request.
    let isContinuable: Bool
    /// Keeps what has been received; `nil` where nobody asks for it behind this exchange.
    let keeper: (any ResumeWriting)?
    /// Where the body of a successful answer goes piece by piece; `nil` where it is collected.
    let pouring: Pouring?
    /// Where the body of the request comes from; `nil` where the request has it, or there is none.
    let upload: Upload?
    /// Asked before anything leaves; `nil` where nobody has to be.
    let gate: SendGate?
    /// Asked before it is sent, for the first time and again: where it may not be, its run is given up. `nil` where nobody has to be.
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

    /// How its request gets newer credentials.
    struct Renewal: Sendable {
        /// Whether they may be made anew at this time.
        let isAllowed: @Sendable () -> Bool
        /// The request with newer ones.
        let request: @Sendable () async throws(ConnectionError) -> TransportRequest
    }
}
