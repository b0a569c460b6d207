import Foundation
import HTTPTypes

/// An event after which a query may have work to do.
enum QueryEvent: Equatable, Sendable {
    /// The stored response was marked stale or erased by this process.
    case outdated
    /// All entries of the value's user were erased.
    case forgotten
    /// The stored response may have changed.
    case maybeChanged
    /// Another process may have stored a response since the last poll.
    case polled
    case network(isReachable: Bool)
    case foreground
}

/// The state of a query, and the work that it needs next: a value that returns steps, which ``Query`` performs.
struct QueryLife<Value: Sendable>: Sendable {
    /// The next step of a query.
    enum Step: Equatable {
        case lookUp(QueryNeed)
        /// Waits for an event, or for a time in milliseconds.
        case wait(Int64?)
    }

    /// A value with its response.
    struct Answer: Sendable {
        let value: Value
        let response: Response
        /// The time when the response arrived.
        let receivedAt: WallTime
        /// The time when the origin made or confirmed the response.
        let originTime: WallTime
        /// The failure of the fetch, if the response is a stored one that replaces it.
        var failure: ConnectionError?
    }

    private(set) var state = QueryState<Value>()
    /// Whether observers may see the state: the store was read.
    private(set) var isReady = false
    /// The entry, user and names of the last lookup; `nil` before.
    private(set) var lastLookup: QueryLookup?
    /// The number of erasures of the user's data and changes of the user. An answer of an earlier epoch is not shown.
    private(set) var epoch = 0
    private var need = QueryNeed.freshen
    private var isOffline = false
    private var receivedAt = WallTime.min
    /// Whether the value was stored.
    private var isStored = false
    /// Whether another caller or process has fetched the value.
    private var isFetchedElsewhere = false
    /// The uptime at the end of the last fetch, or of the first lookup.
    private var endedAt: EngineTime?

    // MARK: Events

    /// Notes an event.
    ///
    /// - Returns: whether there is work to do.
    mutating func note(_ event: QueryEvent) -> Bool {
        switch event {
        // Before the first lookup, the next lookup sees the mark.
        case .outdated: require(lastLookup == nil ? .freshen : .ask)
        case .forgotten:
            forgetValue()
            require(.freshen)
        case .maybeChanged: require(.compare)
        case .polled: if state.value == nil { require(.compare) }
        case .network(let isReachable): noteNetwork(isReachable: isReachable)
        case .foreground: refresh()
        }
        return need != .nothing
    }

    private mutating func require(_ least: QueryNeed) { need = max(need, least) }

    /// Requires a fetch unless the value is fresh. After a failed fetch a fresh value is fetched, too, so that the
    /// error does not stay.
    private mutating func refresh() { require(state.error == nil ? .freshen : .ask) }

    private mutating func noteNetwork(isReachable: Bool) {
        if isReachable, isOffline || state.error != nil { refresh() }
        isOffline = !isReachable
    }

    private mutating func forgetValue() {
        epoch += 1
        state = QueryState(isFetching: true)
        receivedAt = .min
        isStored = false
        isFetchedElsewhere = false
        lastLookup = nil
    }

    // MARK: Steps

    /// Returns the next step. Its work counts as begun.
    ///
    /// - Parameters:
    ///   - interval: the milliseconds between two fetches; `nil` for no fetches by time.
    ///   - uptime: the milliseconds of a monotonic clock.
    mutating func nextStep(interval: Int64?, at uptime: EngineTime) -> Step {
        let isDue = interval.map { (endedAt ?? uptime) + $0 <= uptime } ?? false
        if isDue {
            require(.ask)
            // The next interval begins now if nothing is fetched: under `cacheOnly` no fetch ends.
            endedAt = uptime
        }
        guard need == .nothing else {
            defer { need = .nothing }
            return .lookUp(need)
        }
        return .wait(interval.map { ((endedAt ?? uptime) + $0).milliseconds(since: uptime) })
    }

    /// Returns the plan for a need, given the store's entry.
    mutating func plan(for need: QueryNeed, mode: CachePolicy.Mode, lookup: QueryLookup) -> QueryPlan {
        var need = need
        if let lastLookup, !lastLookup.user.isExactly(lookup.user) {
            // Another user has signed in.
            forgetValue()
            need = max(need, .freshen)
        }
        let entry = entry(of: lookup, for: need)
        lastLookup = lookup.withoutBody
        return QueryPlan(for: need, mode: mode, entry: entry, hasLostEntry: isStored)
    }

    private func entry(of lookup: QueryLookup, for need: QueryNeed) -> QueryEntry? {
        guard let stored = lookup.stored else { return nil }
        let isKnown = lastLookup?.stored.map { stored.response.isUnchanged(since: $0.response) } ?? false
        // A response that was refused before is not read again whenever time passes.
        let relation: QueryEntry.Relation =
            isKnown && need == .compare ? .same : relation(of: stored.response, isKnown: isKnown)
        return QueryEntry(condition: stored.condition, relation: relation, hasChanged: !isKnown)
    }

    private func relation(of stored: StoredResponse, isKnown: Bool) -> QueryEntry.Relation {
        guard let response = state.response else { return .newer }
        let isEqual = stored.isWhole && stored.body == response.body && stored.status == response.status.code
        if isKnown || isEqual { return .same }
        return stored.sentAt > receivedAt ? .newer : .unclear
    }

    // MARK: Answers

    /// Shows a stored answer.
    ///
    /// - Parameter isLast: whether no fetch follows.
    mutating func show(_ answer: Answer, isLast: Bool, at uptime: EngineTime) {
        take(answer)
        isStored = answer.response.isInCache
        isFetchedElsewhere = true
        guard isLast else { return _ = beginFetch() }
        // Another caller has fetched it.
        state.error = nil
        end(at: uptime)
    }

    /// Begins a fetch.
    ///
    /// - Returns: whether the state has changed.
    mutating func beginFetch() -> Bool {
        guard !state.isFetching || !isReady else { return false }
        state.isFetching = true
        isReady = true
        return true
    }

    /// Ends a lookup after which nothing is fetched.
    ///
    /// - Returns: whether the state has changed.
    mutating func endLookup(at uptime: EngineTime) -> Bool {
        guard !isReady || state.isFetching else { return false }
        end(at: uptime)
        return true
    }

    /// Ends a fetch. A stale response that was served because the fetch has failed does not replace a value.
    mutating func end(_ result: Result<Answer, ConnectionError>, at uptime: EngineTime) {
        switch result {
        case .success(let answer):
            // The shared exchange may have begun before the exchange of the shown value, so the server is asked again.
            if isFetchedElsewhere, answer.response.cacheStatus?.isCollapsed == true,
                answer.response.body != state.response?.body
            {
                isFetchedElsewhere = false
                return require(.ask)
            }
            state.error = answer.failure
            end(at: uptime)
            let isOld = answer.failure != nil || answer.response.source == .stale
            guard !isOld || state.value == nil else { return }
            take(answer)
            isStored = answer.response.isInCache
            isFetchedElsewhere = false
        case .failure(let error):
            state.error = error
            end(at: uptime)
        }
    }

    private mutating func take(_ answer: Answer) {
        state.value = answer.value
        state.response = answer.response
        state.date = answer.originTime.date
        receivedAt = answer.receivedAt
    }

    private mutating func end(at uptime: EngineTime) {
        state.isFetching = false
        isReady = true
        endedAt = uptime
    }
}

extension Response {
    /// Whether the cache has the response.
    fileprivate var isInCache: Bool {
        source == .cache || source == .revalidated || source == .stale || cacheStatus?.isStored == true
    }
}
