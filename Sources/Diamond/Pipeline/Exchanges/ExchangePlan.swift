import HTTPTypes

/// The purpose of an exchange: the request, the stored response that it replaces or confirms, and the instant of the
/// look-up.
///
/// It is a class because every step of the exchange has it.
final class ExchangePlan: Sendable {
    let context: RequestContext
    let revalidation: Revalidation
    /// Whether a caller waits for the response.
    let isAwaited: Bool
    /// Whether a response that another exchange stores meanwhile is served instead.
    let mayBeSuperseded: Bool
    /// The start of the request's time, by the exchange clock; `nil` if it starts with the exchange.
    let timeStart: Int64?
    /// The interval that the exchange belongs to.
    let parent: ActivityInterval.ID?
    /// The instant of the look-up in the cache.
    let lookedUpAt: InvalidationLog.Instant

    init(
        _ context: RequestContext,
        _ revalidation: Revalidation = Revalidation(),
        isAwaited: Bool = true,
        mayBeSuperseded: Bool = true,
        timeStart: Int64?,
        parent: ActivityInterval.ID?,
        lookedUpAt: InvalidationLog.Instant = 0
    ) {
        self.context = context
        self.revalidation = revalidation
        self.isAwaited = isAwaited
        self.mayBeSuperseded = mayBeSuperseded
        self.timeStart = timeStart
        self.parent = parent
        self.lookedUpAt = lookedUpAt
    }

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

    func scope(in activity: Activity) -> ActivityScope { context.scope(in: activity, of: parent) }

    /// Returns the plan without conditions, with the same time limit.
    func unconditional(since timeStart: Int64?) -> ExchangePlan {
        ExchangePlan(context, Revalidation(stored: stored), timeStart: timeStart, parent: parent)
    }

    /// The plan without the stored response, which was erased.
    var withoutStored: ExchangePlan {
        ExchangePlan(context, isAwaited: isAwaited, timeStart: timeStart, parent: parent)
    }

    /// The plan with the stored response marked stale.
    var invalidated: ExchangePlan {
        var revalidation = revalidation
        revalidation.stored = stored?.invalidated
        return with(context, revalidation: revalidation)
    }

    /// Returns the plan for another caller of the same request.
    func with(_ context: RequestContext) -> ExchangePlan { with(context, revalidation: revalidation) }

    private func with(_ context: RequestContext, revalidation: Revalidation) -> ExchangePlan {
        ExchangePlan(
            context, revalidation, isAwaited: isAwaited, mayBeSuperseded: mayBeSuperseded, timeStart: timeStart,
            parent: parent, lookedUpAt: lookedUpAt)
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
