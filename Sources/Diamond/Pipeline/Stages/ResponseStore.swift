import Foundation
import HTTPTypes

/// The last stage: decides what is stored of a response, and what it confirms, replaces or makes stale.
///
/// A response counts only as of the instant at which it was requested: what was erased since then is not stored, and what was
/// invalidated is stored stale.
struct ResponseStore: Sendable {
    let cache: Cache?
    let environment: Environment
    let invalidations: InvalidationLog
    let hasCookies: Bool

    // MARK: Decisions

    /// Returns what the rules of HTTP say about storing a response.
    func decision(on arrival: ReceivedResponse, _ context: RequestContext) -> StoreDecision {
        StoreDecision(
            method: context.wire.method,
            status: arrival.status.code,
            headers: arrival.headers,
            body: arrival.body,
            sentAt: arrival.sentAt,
            receivedAt: arrival.receivedAt,
            secrets: secrets(of: context),
            isSelecting: isSelecting(context, adapted: arrival.adaptedHeaders)
        )
    }

    /// The secrets of the engine and of the request: a server may repeat them.
    private func secrets(of context: RequestContext) -> FieldSecrets {
        let rules = environment.rules.own.union(context.wire.rules)
        return FieldSecrets(own: rules.union(IdentityRules(secrets: context.wire.secretPlaces)))
    }

    /// Whether a header tells requests apart by their keys: none that an interceptor has changed, and not `Cookie` where a jar
    /// adds it or an identity replaces it.
    private func isSelecting(_ context: RequestContext, adapted: Set<String>) -> (String) -> Bool {
        let request = context.wire
        let rules = environment.rules.adding(request)
        let hasCookieKey = request.identity == nil && (!hasCookies || request.headers[.cookie] != nil)
        return { name in
            rules.isSelecting(name) && !adapted.contains(name) && (name != "cookie" || hasCookieKey)
        }
    }

    /// Whether a response is to be considered for the cache. An error of the server does not replace a good response (RFC 9111
    /// section 4.3.3).
    func isForCache(_ arrival: ReceivedResponse, _ plan: ExchangePlan) -> Bool {
        guard cache != nil, plan.context.identity != nil else { return false }
        guard let stored = plan.stored?.response else { return true }
        return arrival.status.code < 500 || stored.status >= 500
    }

    // MARK: Storing

    /// Returns the entry that a response is stored as; `nil` where it may not be stored.
    func entry(of arrival: ReceivedResponse, _ admitted: ExchangeRequest) -> CacheEntry? {
        let plan = admitted.plan
        let decision = decision(on: arrival, plan.context)
        guard counts(arrival, decision, admitted) else { return nil }
        guard let new = decision.stored.flatMap({ plan.context.entry($0) }) else {
            if plan.context.wire.method != .head { dropPredecessor(of: arrival, plan) }
            return nil
        }
        return marked(new, admitted)
    }

    /// Stores an entry.
    ///
    /// - Parameter isWritten: whether its body was written as it came.
    func store(_ entry: CacheEntry, _ admitted: ExchangeRequest, isWritten: Bool = false) {
        if !isWritten { cache?.store(entry, replacing: admitted.plan.stored != nil) }
        checkAgain(entry, admitted)
    }

    /// Whether a response may change what is stored: it is not personal, and nothing newer was stored meanwhile.
    private func counts(_ arrival: ReceivedResponse, _ decision: StoreDecision, _ admitted: ExchangeRequest) -> Bool {
        let plan = admitted.plan
        return !arrival.isPersonal && !invalidations.hasErased(plan.context, since: admitted.sentAt)
            && !isOvertaken(plan.stored?.response, admitted) && !isOlder(decision, plan)
    }

    /// Erases the stored response that a new one replaces, where the new one may not be stored: nothing newer would be known.
    /// A status other than 2xx says nothing of what is there now, nor does one that is not cacheable by itself, such as 202.
    private func dropPredecessor(of arrival: ReceivedResponse, _ plan: ExchangePlan) {
        guard let identity = plan.context.identity, (200..<300).contains(arrival.status.code),
            StoreDecision.cacheable.contains(arrival.status.code)
        else { return }
        // Where nothing is known to be there, nothing is written.
        guard plan.stored != nil || peek(identity) != nil else { return }
        cache?.forget(identity.key)
    }

    /// Whether a newer response was stored meanwhile (RFC 9111 section 4: the most recent counts). Looks at no file: what has
    /// left memory, and what another process has stored, counts as older.
    private func isOlder(_ decision: StoreDecision, _ plan: ExchangePlan) -> Bool {
        guard let latest = plan.context.identity.flatMap({ peek($0) }), latest.originTime > decision.originTime else {
            return false
        }
        return plan.stored.map { !latest.isUnchanged(since: $0.response) } ?? true
    }

    /// Whether what is stored was requested after the change that has made this response stale.
    ///
    /// - Parameter old: what was stored when this response was requested. It may have stayed as it is: where there were many
    ///   changes, the log answers that each has happened.
    private func isOvertaken(_ old: StoredResponse?, _ admitted: ExchangeRequest) -> Bool {
        let context = admitted.plan.context
        guard invalidations.includes(context, since: admitted.sentAt),
            let found = context.identity.flatMap({ cache?.find($0) }), !found.flags.contains(.invalidated)
        else { return false }
        return old.map { !found.isUnchanged(since: $0) } ?? true
    }

    /// Returns an entry, stale where it was invalidated while it was under way.
    private func marked(_ entry: CacheEntry, _ admitted: ExchangeRequest) -> CacheEntry {
        guard invalidations.includes(admitted.plan.context, since: admitted.sentAt) else { return entry }
        var entry = entry
        entry.stored.flags.insert(.invalidated)
        return entry
    }

    /// Takes back what was stored, where it was erased or invalidated between the look and the store.
    private func checkAgain(_ entry: CacheEntry, _ admitted: ExchangeRequest) {
        guard !invalidations.hasErased(admitted.plan.context, since: admitted.sentAt) else {
            cache?.forget(entry.key)
            return
        }
        let marked = marked(entry, admitted)
        guard marked.stored.flags != entry.stored.flags else { return }
        if marked.stored.isWhole {
            cache?.store(marked, replacing: true)
        } else {
            cache?.confirm(marked, replacing: entry.stored)
        }
    }

    private func peek(_ identity: ResolvedRequest.Identity) -> StoredResponse? {
        cache?.peek(identity.key, request: identity.canonicalForm)
    }

    // MARK: Confirming

    /// The stored response after a 304.
    struct Confirmed {
        var stored: StoredResponse
        /// Whether it may be stored no longer, and is erased when it has been served.
        var isToBeErased: Bool
    }

    /// Updates a stored response by a 304 (RFC 9111 section 4.3.4).
    func confirm(_ stored: StoredResponse, by arrival: ReceivedResponse, _ admitted: ExchangeRequest) -> Confirmed {
        let context = admitted.plan.context
        let decision = StoreDecision(
            confirming: stored,
            by: arrival.headers,
            sentAt: arrival.sentAt,
            receivedAt: arrival.receivedAt,
            secrets: secrets(of: context),
            isSelecting: isSelecting(context, adapted: arrival.adaptedHeaders)
        )
        // A confirmation to a credential that an interceptor has added is one for nobody else.
        guard !arrival.isPersonal else { return Confirmed(stored: decision.stored ?? stored, isToBeErased: false) }
        guard !invalidations.hasErased(context, since: admitted.sentAt) else {
            if let key = context.identity?.key { cache?.forget(key) }
            return Confirmed(stored: stored, isToBeErased: false)
        }
        guard let confirmed = decision.stored, let new = context.entry(confirmed) else {
            return Confirmed(stored: stored, isToBeErased: true)
        }
        let entry = marked(new, admitted)
        if !isOvertaken(stored, admitted) {
            cache?.confirm(entry, replacing: stored)
            checkAgain(entry, admitted)
        }
        return Confirmed(stored: confirmed, isToBeErased: false)
    }

    /// Erases what is stored for a request.
    func erase(_ context: RequestContext) {
        if let key = context.identity?.key { cache?.forget(key) }
    }

    /// Updates or invalidates the stored response to GET, where a response to HEAD says so (RFC 9111 section 4.3.5).
    func freshen(by arrival: ReceivedResponse, _ admitted: ExchangeRequest) {
        let context = admitted.plan.context
        guard context.wire.method == .head, let identity = context.identity,
            let stored = admitted.plan.stored?.response ?? peek(identity),
            counts(arrival, decision(on: arrival, context), admitted)
        else { return }
        switch HeadDecision(stored, status: arrival.status.code, headers: arrival.headers) {
        case .update:
            if confirm(stored, by: arrival, admitted).isToBeErased { cache?.forget(identity.key) }
        case .invalidate:
            var invalidated = stored
            invalidated.flags.insert(.invalidated)
            if let entry = context.entry(invalidated) { cache?.confirm(entry, replacing: stored) }
        case .ignore: break
        }
    }
}
