import HTTPTypes

/// The purpose of an exchange: the request, the stored response that it replaces or confirms, and the instant of the
/// look-up.
///
/// It is a class because every step of the exchange has it.
final class ExchangePlan: Sendable {
    let context: RequestContext
    /// The stored response that a new one replaces.
    let stored: StoredCandidate?
    /// Whether the validators of the stored response are sent.
    let isConditional: Bool
    /// The other variants whose entity tags are sent (RFC 9111 section 4.3.1).
    let variants: [StoredCandidate]
    /// Whether a caller waits for the response.
    let isAwaited: Bool
    /// Whether a response that another exchange stores meanwhile is served instead.
    let mayBeSuperseded: Bool
    /// The start of the request's time, by the exchange clock; `nil` if it starts with the exchange.
    let begin: Int64?
    /// The interval that the exchange belongs to.
    let parent: ActivityInterval.ID?
    /// The instant of the look-up in the cache.
    let lookedUpAt: InvalidationLog.Instant
    /// The number of credential refreshes when the secrets were filled in.
    let refreshes: Int
    /// Whether a refresh of its own credentials sends the request. A 401 is then returned, without another refresh.
    let isSentByRefresh: Bool

    init(
        _ context: RequestContext,
        stored: StoredCandidate? = nil,
        isConditional: Bool = false,
        variants: [StoredCandidate] = [],
        isAwaited: Bool = true,
        mayBeSuperseded: Bool = true,
        begin: Int64?,
        parent: ActivityInterval.ID?,
        lookedUpAt: InvalidationLog.Instant = 0,
        refreshes: Int = 0,
        isSentByRefresh: Bool = false
    ) {
        self.context = context
        self.stored = stored
        self.isConditional = isConditional
        self.variants = variants
        self.isAwaited = isAwaited
        self.mayBeSuperseded = mayBeSuperseded
        self.begin = begin
        self.parent = parent
        self.lookedUpAt = lookedUpAt
        self.refreshes = refreshes
        self.isSentByRefresh = isSentByRefresh
    }

    /// The stored response whose validators are sent.
    var validators: StoredResponse? { isConditional ? stored?.response : nil }

    /// Whether a 304 may be about a stored response.
    var mayBeConfirmed: Bool { stored != nil || !variants.isEmpty }

    /// Returns the meaning of a 304; `nil` for other responses, and without a stored response.
    func meaning(of received: ReceivedResponse) -> NotModifiedDecision? {
        guard received.status == .notModified, mayBeConfirmed else { return nil }
        return NotModifiedDecision(
            received.headers, stored: stored?.response, variants: variants.map(\.response), isValidating: isConditional,
            own: context.wire.headers)
    }

    /// Returns the stored response that a 304 confirms; `nil` if it confirms none.
    func candidate(for meaning: NotModifiedDecision) -> StoredCandidate? {
        switch meaning {
        case .confirm: stored
        case .select(let index): variants[index]
        case .pass, .askAgain: nil
        }
    }

    /// Whether secrets are filled in before the request is sent.
    var hasSecrets: Bool { context.resolved.hasNamedSecrets }

    func scope(in activity: Activity) -> ActivityScope { context.scope(in: activity, of: parent) }

    /// Returns the plan without conditions, with the same time limit.
    func unconditional(since begin: Int64?) -> ExchangePlan {
        ExchangePlan(context, stored: stored, begin: begin, parent: parent)
    }

    /// The plan without the stored response, which was erased.
    var withoutStored: ExchangePlan {
        ExchangePlan(context, isAwaited: isAwaited, begin: begin, parent: parent)
    }

    /// The plan with the stored response marked stale.
    var invalidated: ExchangePlan {
        with(stored: stored?.invalidated, refreshes: refreshes, isSentByRefresh: isSentByRefresh)
    }

    /// Returns the plan with the state of its credentials.
    func with(refreshes: Int, isSentByRefresh: Bool) -> ExchangePlan {
        with(stored: stored, refreshes: refreshes, isSentByRefresh: isSentByRefresh)
    }

    /// Returns the plan for another caller of the same request.
    func with(_ context: RequestContext) -> ExchangePlan {
        with(context, stored: stored, refreshes: refreshes, isSentByRefresh: isSentByRefresh)
    }

    private func with(
        _ context: RequestContext? = nil, stored: StoredCandidate?, refreshes: Int, isSentByRefresh: Bool
    ) -> ExchangePlan {
        ExchangePlan(
            context ?? self.context, stored: stored, isConditional: isConditional, variants: variants,
            isAwaited: isAwaited,
            mayBeSuperseded: mayBeSuperseded, begin: begin, parent: parent, lookedUpAt: lookedUpAt,
            refreshes: refreshes, isSentByRefresh: isSentByRefresh)
    }
}
