/// The purpose of an exchange: the stored response that it replaces or confirms, and the instants at which both were looked at.
///
/// A class, because every step of the exchange has it.
final class ExchangePlan: Sendable {
    let context: RequestContext
    /// The stored response that an answer takes the place of.
    let stored: StoredCandidate?
    /// Whether the validators of the stored response are sent.
    let isConditional: Bool
    /// Whether a caller waits for the response.
    let isAwaited: Bool
    /// Whether a response that is stored meanwhile is served instead.
    let mayBeSuperseded: Bool
    /// The start of the request's time, by the exchange clock; `nil` where it starts with the exchange.
    let begin: Int64?
    /// The interval that the exchange belongs to.
    let parent: ActivityInterval.ID?
    /// The instant at which the cache was asked.
    let lookedUpAt: InvalidationLog.Instant
    /// The number of credential refreshes when the secrets were filled in.
    let refreshes: Int
    /// Whether a refresh of its own credentials sends it, and takes a 401 for an answer.
    let isOfRefresh: Bool

    init(
        _ context: RequestContext,
        stored: StoredCandidate? = nil,
        isConditional: Bool = false,
        isAwaited: Bool = true,
        mayBeSuperseded: Bool = true,
        begin: Int64?,
        parent: ActivityInterval.ID?,
        lookedUpAt: InvalidationLog.Instant = 0,
        refreshes: Int = 0,
        isOfRefresh: Bool = false
    ) {
        self.context = context
        self.stored = stored
        self.isConditional = isConditional
        self.isAwaited = isAwaited
        self.mayBeSuperseded = mayBeSuperseded
        self.begin = begin
        self.parent = parent
        self.lookedUpAt = lookedUpAt
        self.refreshes = refreshes
        self.isOfRefresh = isOfRefresh
    }

    /// The stored response whose validators are sent.
    var validators: StoredResponse? { isConditional ? stored?.response : nil }

    /// Whether secrets are filled in before it is sent.
    var hasSecrets: Bool { context.resolved.hasNamedSecrets }

    func scope(in activity: Activity) -> ActivityScope { context.scope(in: activity, of: parent) }

    /// The plan without conditions, within the time of the one before.
    func unconditional(since begin: Int64?) -> ExchangePlan {
        ExchangePlan(context, stored: stored, begin: begin, parent: parent)
    }

    /// The plan for a request that has nothing stored any more.
    var withoutStored: ExchangePlan {
        ExchangePlan(context, isAwaited: isAwaited, begin: begin, parent: parent)
    }

    /// The plan with the stored response marked stale.
    var invalidated: ExchangePlan { with(stored: stored?.invalidated, refreshes, isOfRefresh: isOfRefresh) }

    /// The plan with credentials of this age.
    func dated(_ refreshes: Int, isOfRefresh: Bool) -> ExchangePlan {
        with(stored: stored, refreshes, isOfRefresh: isOfRefresh)
    }

    private func with(stored: StoredCandidate?, _ refreshes: Int, isOfRefresh: Bool) -> ExchangePlan {
        ExchangePlan(
            context, stored: stored, isConditional: isConditional, isAwaited: isAwaited,
            mayBeSuperseded: mayBeSuperseded, begin: begin, parent: parent, lookedUpAt: lookedUpAt,
            refreshes: refreshes, isOfRefresh: isOfRefresh)
    }
}
