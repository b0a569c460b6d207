import Foundation
import HTTPTypes

/// The last stage: stores responses, and confirms, replaces, invalidates and erases stored ones.
///
/// A response is as old as its request: if its entry was erased since then, it is not stored; if its entry was invalidated, it is
/// stored as stale.
struct ResponseStore: Sendable {
    let cache: Cache?
    let kind: CacheKind
    let environment: Environment
    let invalidations: InvalidationLog
    let hasCookies: Bool

    // MARK: Decisions

    /// Returns the decision of the rules of HTTP about storing a response.
    func decision(on received: ReceivedResponse, to context: RequestContext) -> StoreDecision {
        StoreDecision(
            method: context.wire.method,
            status: received.status.code,
            headers: received.headers,
            body: received.body,
            sentAt: received.sentAt,
            receivedAt: received.receivedAt,
            rules: rules(for: context, adapted: received.adaptedHeaders)
        )
    }

    private func rules(for context: RequestContext, adapted: Set<String>) -> StoreRules {
        StoreRules(
            kind: kind, isAuthorized: context.wire.isAuthorized || adapted.contains("authorization"),
            secrets: secrets(of: context), isSelecting: isSelecting(context, adapted: adapted))
    }

    /// Returns the secrets of the engine and of the request, which a server may repeat in its response.
    private func secrets(of context: RequestContext) -> FieldSecrets {
        let rules = environment.rules.own.union(context.wire.rules)
        return FieldSecrets(own: rules.union(IdentityRules(secrets: context.wire.secretPlaces)))
    }

    /// Returns whether the key of a request contains a header: not if an interceptor has changed it, and not `Cookie` if a jar
    /// adds it or an identity replaces it.
    private func isSelecting(_ context: RequestContext, adapted: Set<String>) -> (String) -> Bool {
        let request = context.wire
        let rules = environment.rules.adding(request)
        let hasCookieKey = request.identity == nil && (!hasCookies || request.headers[.cookie] != nil)
        return { name in
            rules.isSelecting(name) && !adapted.contains(name) && (name != "cookie" || hasCookieKey)
        }
    }

    /// Whether a response is a candidate for the cache. A server error does not replace a successful response (RFC 9111 section
    /// 4.3.3).
    func isForCache(_ received: ReceivedResponse, to plan: ExchangePlan) -> Bool {
        guard cache != nil, plan.context.identity != nil else { return false }
        guard let stored = plan.stored?.response else { return true }
        return received.status.code < 500 || stored.status >= 500
    }

    // MARK: Sharing

    /// Whether all callers of an exchange may have its response. In a private cache they are one user. A shared cache gives
    /// it to others where it may reuse it for them (RFC 9111 section 4): where it may store it, and it is fresh. A new cookie
    /// is for one user, and no hit has it either.
    func isForAll(_ received: ReceivedResponse, to context: RequestContext) -> Bool {
        guard kind == .shared else { return true }
        let stored = decision(on: received, to: context).stored
        return stored?.isFresh(at: received.receivedAt, maxAge: nil) == true && !received.headers.contains(.setCookie)
    }

    /// Whether all callers of an exchange may have the response that it has confirmed.
    func isForAll(_ confirmed: Confirmed, at now: Int64) -> Bool {
        kind == .private || !confirmed.isToBeErased && confirmed.stored.isFresh(at: now, maxAge: nil)
    }

    // MARK: Storing

    /// Returns the entry that a response is stored as; `nil` if it may not be stored.
    func entry(of received: ReceivedResponse, to admitted: ExchangeRequest) -> CacheEntry? {
        let plan = admitted.plan
        let decision = decision(on: received, to: plan.context)
        guard isCurrent(received, decision: decision, admitted: admitted) else { return nil }
        guard let new = decision.stored.flatMap({ plan.context.entry($0) }) else {
            if plan.context.wire.method != .head { erasePredecessor(of: received, plan: plan) }
            return nil
        }
        return marked(new, admitted: admitted)
    }

    /// Stores an entry.
    ///
    /// - Parameter isWritten: whether the entry was already written while its body was received.
    func store(_ entry: CacheEntry, admitted: ExchangeRequest, isWritten: Bool = false) {
        if !isWritten { cache?.store(entry, replacing: admitted.plan.stored != nil) }
        checkAgain(entry, admitted: admitted)
    }

    /// Whether a response may change the cache: it is not personal, was not erased, and nothing newer was stored meanwhile.
    private func isCurrent(_ received: ReceivedResponse, decision: StoreDecision, admitted: ExchangeRequest) -> Bool {
        let plan = admitted.plan
        return !received.isPersonal && !invalidations.hasErased(plan.context, since: admitted.sentAt)
            && !isOvertaken(plan.stored?.response, admitted: admitted) && !isOlder(decision, plan: plan)
    }

    /// Erases the stored response if the new one may not be stored, because it is outdated. A status other than 2xx does not say
    /// that, nor does one that is not cacheable by default, such as 202.
    private func erasePredecessor(of received: ReceivedResponse, plan: ExchangePlan) {
        guard let identity = plan.context.identity, (200..<300).contains(received.status.code),
            StoreDecision.heuristicallyCacheable.contains(received.status.code)
        else { return }
        // Without a known entry there is nothing to write.
        guard plan.stored != nil || peek(identity) != nil else { return }
        cache?.forget(identity.key)
    }

    /// Whether a newer response was stored meanwhile (RFC 9111 section 4: the most recent one is used). Reads memory only: a
    /// response that has left memory, or that another process has stored, counts as older.
    private func isOlder(_ decision: StoreDecision, plan: ExchangePlan) -> Bool {
        guard let latest = plan.context.identity.flatMap({ peek($0) }), latest.originTime > decision.originTime else {
            return false
        }
        return plan.stored.map { !latest.isUnchanged(since: $0.response) } ?? true
    }

    /// Whether the stored response was requested after the change that has made this response stale.
    ///
    /// - Parameter old: the response that was stored when this one was requested. It may be unchanged: after many changes, the
    ///   log reports every URL as changed.
    private func isOvertaken(_ old: StoredResponse?, admitted: ExchangeRequest) -> Bool {
        let context = admitted.plan.context
        guard invalidations.includes(context, since: admitted.sentAt),
            let found = context.identity.flatMap({ cache?.find($0, for: kind) }), !found.flags.contains(.invalidated)
        else { return false }
        return old.map { !found.isUnchanged(since: $0) } ?? true
    }

    /// Returns an entry, marked stale if it was invalidated during the exchange.
    private func marked(_ entry: CacheEntry, admitted: ExchangeRequest) -> CacheEntry {
        guard invalidations.includes(admitted.plan.context, since: admitted.sentAt) else { return entry }
        var entry = entry
        entry.stored.flags.insert(.invalidated)
        return entry
    }

    /// Corrects the stored entry if it was erased or invalidated between the check and the store.
    private func checkAgain(_ entry: CacheEntry, admitted: ExchangeRequest) {
        guard !invalidations.hasErased(admitted.plan.context, since: admitted.sentAt) else {
            cache?.forget(entry.key)
            return
        }
        let marked = marked(entry, admitted: admitted)
        guard marked.stored.flags != entry.stored.flags else { return }
        if marked.stored.isWhole {
            cache?.store(marked, replacing: true)
        } else {
            cache?.confirm(marked, replacing: entry.stored)
        }
    }

    private func peek(_ identity: ResolvedRequest.Identity) -> StoredResponse? {
        cache?.peek(identity.key, request: identity.canonicalForm).flatMap { $0.isOf(kind) ? $0 : nil }
    }

    // MARK: Confirming

    /// The stored response after a 304.
    struct Confirmed {
        var stored: StoredResponse
        /// Whether the response may not stay stored, and has to be erased after it was served.
        var isToBeErased: Bool
    }

    /// Updates a stored response by a 304 (RFC 9111 section 4.3.4).
    func confirm(_ stored: StoredResponse, by received: ReceivedResponse, admitted: ExchangeRequest) -> Confirmed {
        let context = admitted.plan.context
        let decision = StoreDecision(
            confirming: stored,
            by: received.headers,
            sentAt: received.sentAt,
            receivedAt: received.receivedAt,
            rules: rules(for: context, adapted: received.adaptedHeaders)
        )
        // The confirmation of a personal request is not for other callers.
        guard !received.isPersonal else { return Confirmed(stored: decision.stored ?? stored, isToBeErased: false) }
        guard !invalidations.hasErased(context, since: admitted.sentAt) else {
            if let key = context.identity?.key { cache?.forget(key) }
            return Confirmed(stored: stored, isToBeErased: false)
        }
        guard let confirmed = decision.stored, let new = context.entry(confirmed) else {
            return Confirmed(stored: stored, isToBeErased: true)
        }
        let entry = marked(new, admitted: admitted)
        if !isOvertaken(stored, admitted: admitted) {
            cache?.confirm(entry, replacing: stored)
            checkAgain(entry, admitted: admitted)
        }
        return Confirmed(stored: confirmed, isToBeErased: false)
    }

    /// Erases the stored response for a request.
    func erase(_ context: RequestContext) {
        if let key = context.identity?.key { cache?.forget(key) }
    }

    /// Updates or invalidates the stored response to GET by a response to HEAD (RFC 9111 section 4.3.5).
    func freshen(by received: ReceivedResponse, admitted: ExchangeRequest) {
        let context = admitted.plan.context
        guard context.wire.method == .head, let identity = context.identity,
            let stored = admitted.plan.stored?.response ?? peek(identity),
            isCurrent(received, decision: decision(on: received, to: context), admitted: admitted)
        else { return }
        switch HeadDecision(stored, status: received.status.code, headers: received.headers) {
        case .update:
            if confirm(stored, by: received, admitted: admitted).isToBeErased { cache?.forget(identity.key) }
        case .invalidate:
            var invalidated = stored
            invalidated.flags.insert(.invalidated)
            if let entry = context.entry(invalidated) { cache?.confirm(entry, replacing: stored) }
        case .ignore: break
        }
    }
}
