import HTTPTypes

/// An exchange as it is planned: the request to send, the stored response that it replaces or confirms, and the position
/// of the look-up.
///
/// It is a class because every step of the exchange has it.
final class ExchangePlan: Sendable {
    let context: RequestContext
    let revalidation: Revalidation
    /// Whether a response that another exchange stores meanwhile is served instead.
    let mayBeSuperseded: Bool
    /// The start of the request's time, by the exchange clock; `nil` if it starts with the exchange.
    let timeStart: EngineTime?
    /// The interval that the exchange belongs to.
    let parent: ActivityInterval.ID?
    /// The transport's request, without the additions of its attempts.
    let request: TransportRequest
    /// The number of credential refreshes when the secrets were filled in.
    let refreshes: Int
    /// Whether a refresh of its own credentials sends the request. A 401 is then returned, without another refresh.
    let isSentByRefresh: Bool

    init(
        _ context: RequestContext,
        _ revalidation: Revalidation,
        mayBeSuperseded: Bool,
        timeStart: EngineTime?,
        parent: ActivityInterval.ID?,
        request: TransportRequest,
        refreshes: Int = 0,
        isSentByRefresh: Bool = false
    ) {
        self.context = context
        self.revalidation = revalidation
        self.mayBeSuperseded = mayBeSuperseded
        self.timeStart = timeStart
        self.parent = parent
        self.request = request
        self.refreshes = refreshes
        self.isSentByRefresh = isSentByRefresh
    }

    /// Whether a caller waits for the response.
    var isAwaited: Bool { !context.traits.contains(.background) }

    /// The position in the log of invalidations at the look-up in the cache.
    var lookedUpAt: LogPosition { revalidation.lookedUpAt }

    /// The stored response that a new one replaces.
    var stored: StoredCandidate? { revalidation.stored }

    /// Whether a 304 may be about a stored response.
    var mayBeConfirmed: Bool { stored != nil || !revalidation.variants.isEmpty }

    /// Returns the meaning of a 304; `nil` for other responses, and without a stored response.
    func meaning(of received: ReceivedResponse) -> NotModifiedDecision? {
        guard received.status == .notModified, mayBeConfirmed else { return nil }
        return NotModifiedDecision(
            received.headers, stored: stored?.response, variants: revalidation.variants.map(\.response),
            isValidating: revalidation.isConditional, own: context.wire.headers)
    }

    /// Whether secrets are filled in before the request is sent.
    var hasSecrets: Bool { context.resolved.hasNamedSecrets }

    /// The plan with the stored response marked stale.
    var invalidated: ExchangePlan {
        var revalidation = revalidation
        revalidation.stored = stored?.invalidated
        return with(context, revalidation)
    }

    /// Returns the plan for another caller of the same request, or for other stored responses.
    func with(_ context: RequestContext, _ revalidation: Revalidation) -> ExchangePlan {
        ExchangePlan(
            context, revalidation, mayBeSuperseded: mayBeSuperseded, timeStart: timeStart, parent: parent,
            request: request, refreshes: refreshes, isSentByRefresh: isSentByRefresh)
    }
}

/// The stored responses that a new response replaces, or that a 304 confirms.
struct Revalidation: Sendable {
    /// The stored response that a new one replaces.
    var stored: StoredCandidate?
    /// Whether the validators of the stored response are sent.
    var isConditional = false
    /// The other variants whose entity tags are sent (RFC 9111 section 4.3.1).
    var variants: [StoredCandidate] = []
    /// The position in the log of invalidations at the look-up that has found them.
    var lookedUpAt: LogPosition = .start

    /// The stored response whose validators are sent.
    var validators: StoredResponse? { isConditional ? stored?.response : nil }

    /// Returns the stored response that a 304 confirms; `nil` if it confirms none.
    func candidate(for meaning: NotModifiedDecision) -> StoredCandidate? {
        switch meaning {
        case .confirm: stored
        case .select(let index): variants[index]
        case .pass, .askAgain: nil
        }
    }
}
