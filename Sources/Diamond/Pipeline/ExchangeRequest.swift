/// The request that is sent for a plan, and the instant at which it is sent.
///
/// A class, because every step of the exchange has it.
final class ExchangeRequest: Sendable {
    let plan: ExchangePlan
    /// The transport's request, without the additions of its attempts.
    let request: TransportRequest
    let sentAt: InvalidationLog.Instant

    /// - Parameter instant: 0 before it is sent.
    init(_ plan: ExchangePlan, _ request: TransportRequest, at instant: InvalidationLog.Instant = 0) {
        self.plan = plan
        self.request = request
        sentAt = instant
    }

    var context: RequestContext { plan.context }

    /// The request, sent at an instant.
    func sent(at instant: InvalidationLog.Instant) -> ExchangeRequest { ExchangeRequest(plan, request, at: instant) }

    /// The request for another plan.
    func with(_ plan: ExchangePlan) -> ExchangeRequest { ExchangeRequest(plan, request, at: sentAt) }
}
