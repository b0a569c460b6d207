/// The request that is sent for a plan, and the instant at which it is sent.
///
/// It is a class because every step of the exchange has it.
final class ExchangeRequest: Sendable {
    let plan: ExchangePlan
    /// The transport's request, without the additions of its attempts.
    let request: TransportRequest
    let sentAt: InvalidationLog.Instant
    /// ``CacheEntry/knownChange`` of the response.
    let knownChange: Int64?

    /// - Parameter instant: the instant at which it is sent; 0 before.
    init(
        _ request: TransportRequest, for plan: ExchangePlan, at instant: InvalidationLog.Instant = 0,
        knownChange: Int64? = nil
    ) {
        self.plan = plan
        self.request = request
        sentAt = instant
        self.knownChange = knownChange
    }

    var context: RequestContext { plan.context }

    /// Returns the request as sent now.
    func sent(by invalidations: InvalidationLog) -> ExchangeRequest {
        ExchangeRequest(request, for: plan, at: invalidations.now, knownChange: invalidations.knownChange)
    }

    /// Returns the request for another plan.
    func with(_ plan: ExchangePlan) -> ExchangeRequest {
        ExchangeRequest(request, for: plan, at: sentAt, knownChange: knownChange)
    }
}
