/// The request that is sent for a plan, with the state of its credentials, and the instant at which it is sent.
///
/// It is a class because every step of the exchange has it.
final class ExchangeRequest: Sendable {
    let plan: ExchangePlan
    /// The transport's request, without the additions of its attempts.
    let request: TransportRequest
    /// The number of credential refreshes when the secrets were filled in.
    let refreshes: Int
    /// Whether a refresh of its own credentials sends the request. A 401 is then returned, without another refresh.
    let isSentByRefresh: Bool
    /// The instant at which it is sent; 0 before.
    let sentAt: InvalidationLog.Instant
    /// ``CacheEntry/knownChange`` of the response.
    let knownChange: Int64?

    init(
        _ request: TransportRequest,
        for plan: ExchangePlan,
        refreshes: Int = 0,
        isSentByRefresh: Bool = false,
        at instant: InvalidationLog.Instant = 0,
        knownChange: Int64? = nil
    ) {
        self.plan = plan
        self.request = request
        self.refreshes = refreshes
        self.isSentByRefresh = isSentByRefresh
        sentAt = instant
        self.knownChange = knownChange
    }

    var context: RequestContext { plan.context }

    /// Returns the request as sent now.
    func sent(by invalidations: InvalidationLog) -> ExchangeRequest {
        ExchangeRequest(
            request, for: plan, refreshes: refreshes, isSentByRefresh: isSentByRefresh, at: invalidations.now,
            knownChange: invalidations.knownChange)
    }

    /// Returns the request for another plan.
    func with(_ plan: ExchangePlan) -> ExchangeRequest {
        ExchangeRequest(
            request, for: plan, refreshes: refreshes, isSentByRefresh: isSentByRefresh, at: sentAt,
            knownChange: knownChange)
    }
}
