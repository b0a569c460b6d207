import Foundation
import HTTPTypes

/// The last stage: stores responses, and confirms, replaces, invalidates and erases stored ones.
///
/// A response is as old as its request. If its entry was erased since then, it is not stored. If its entry was
/// invalidated since then, it is stored as stale.
///
/// It is a class so that each ``BodyRecorder`` stores only a reference.
final class ResponseStore: Sendable {
    let lookup: CacheLookup
    let cache: Cache?
    let kind: CacheKind
    /// The places where exchanges leave partial responses.
    let locks = ResumeLocks()
    let environment: Environment
    let invalidations: InvalidationLog
    let unshared: UnsharedKeys
    let fleet: FleetSharing?
    let hasCookies: Bool

    init(
        lookup: CacheLookup, environment: Environment, invalidations: InvalidationLog, unshared: UnsharedKeys,
        fleet: FleetSharing?, hasCookies: Bool
    ) {
        self.lookup = lookup
        cache = lookup.cache
        kind = lookup.kind
        self.environment = environment
        self.invalidations = invalidations
        self.unshared = unshared
        self.fleet = fleet
        self.hasCookies = hasCookies
    }

    var isGateway: Bool { lookup.isGateway }

    // MARK: Decisions

    /// Returns the decision of the rules of HTTP about storing a response.
    ///
    /// - Parameter method: the method of the requests that the response is stored for; `nil` for the request's own.
    func decision(
        on received: ReceivedResponse,
        to context: RequestContext,
        method: HTTPRequest.Method? = nil
    ) -> StoreDecision {
        StoreDecision(
            method: method ?? context.wire.method,
            status: received.status.code,
            headers: received.headers,
            body: received.body,
            sentAt: received.sentAt,
            receivedAt: received.receivedAt,
            rules: rules(for: context, adapted: received.adaptedHeaders, coding: received.headers)
        )
    }

    /// - Parameter response: the header fields of a response with a body, whose coding the client may not accept.
    func rules(for context: RequestContext, adapted: Set<String>, coding response: HTTPFields = [:]) -> StoreRules {
        var rules = StoreRules(
            kind: kind, targets: lookup.targets, secrets: secrets(of: context),
            selection: { [self] in part(of: $0, inSelectionBy: context, adapted: adapted) })
        rules.isAuthorized = context.wire.isAuthorized || adapted.contains("authorization")
        rules.hasCredentials = kind == .shared && hasCredentials(context.wire, adapted: adapted)
        rules.acceptsCoding = !isGateway || context.wire.headers.accepts(codingOf: response)
        rules.passesCoding = isGateway
        rules.keepsCookies = environment.gateway?.keepsCookies ?? false
        return rules
    }

    /// Whether a request has credentials in its fields, also if an interceptor has added them.
    private func hasCredentials(_ request: WireRequest, adapted: Set<String>) -> Bool {
        let rules = environment.rules.adding(request)
        return !request.headerCredentials.isEmpty || request.headers.contains { rules.isCredential($0.name) }
            || adapted.contains(where: rules.isCredential)
    }

    /// Returns the secrets of the engine and of the request, which a server may repeat in its response; `nil` for a
    /// gateway, whose clients get the fields that the server has sent.
    private func secrets(of context: RequestContext) -> FieldSecrets? {
        guard !isGateway else { return nil }
        let rules = environment.rules.own.union(context.wire.rules)
        return FieldSecrets(own: rules.union(IdentityRules(secrets: context.wire.secretPlaces)))
    }

    /// Returns the part of a header in the selection of a response. Its value is unknown if an interceptor has changed
    /// it, a jar adds it, or a secret is filled in. `Cookie` is not part of the key if an identity replaces it.
    ///
    /// - Parameter name: the name in lower case.
    private func part(
        of name: String,
        inSelectionBy context: RequestContext,
        adapted: Set<String>
    ) -> VariantFields.Selection {
        let request = context.wire
        let isFromJar = name == "cookie" && hasCookies && request.headers[.cookie] == nil
        guard !isFromJar, !adapted.contains(name) else { return .unknown }
        let isSelecting = environment.rules.adding(request).isSelecting(name)
        if isSelecting, name != "cookie" || !request.replacesCredentials { return .key }
        let isFilled = request.namedCredentials.contains { $0.headerName?.canonicalName == name }
        return isFilled ? .unknown : .value
    }

    /// Whether a response is a candidate for the cache. A server error does not replace a successful response (RFC 9111
    /// section 4.3.3).
    func isForCache(_ received: ReceivedResponse, to plan: ExchangePlan) -> Bool {
        guard cache != nil, plan.context.identity != nil else { return false }
        guard let stored = plan.stored?.response else { return true }
        return received.status.code < 500 || stored.status >= 500
    }

    // MARK: Storing

    /// Returns the entry that a response is stored as; `nil` if it may not be stored.
    ///
    /// - Parameter known: the place where its body is written; `nil` if none is yet.
    func entry(of received: ReceivedResponse, to admitted: Exchange, at known: Target? = nil) -> CacheEntry? {
        let plan = admitted.plan
        let decision = decision(on: received, to: plan.context)
        guard let target = known ?? target(of: decision, for: plan.context, at: received.receivedAt),
            isCurrent(received, decision: decision, target: target.identity, admitted: admitted)
        else { return nil }
        guard let new = decision.stored else {
            if plan.context.wire.method != .head { erasePredecessor(of: received, plan: plan) }
            return nil
        }
        if let index = target.newIndex { cache?.store(index) }
        var entry = plan.context.entry(new, under: target.identity)
        entry.knownChange = admitted.knownChange
        return marked(entry, admitted: admitted)
    }

    /// Stores an entry.
    ///
    /// - Parameter isWritten: whether the entry was already written while its body was received.
    func add(_ entry: CacheEntry, admitted: Exchange, isWritten: Bool = false) {
        if !isWritten { cache?.store(entry, replacing: admitted.plan.stored != nil) }
        fleet?.note(entry.stored, to: admitted.plan)
        checkAgain(entry, admitted: admitted)
    }

    /// Whether a response may change the cache: it is not personal, was not erased, and nothing newer was stored
    /// meanwhile.
    ///
    /// - Parameter target: the identity under which it would be stored.
    func isCurrent(
        _ received: ReceivedResponse,
        decision: StoreDecision,
        target: ResolvedRequest.Identity,
        admitted: Exchange
    ) -> Bool {
        let plan = admitted.plan
        return !received.isPersonal && !invalidations.hasErased(plan.context, since: admitted.position)
            && !isOvertaken(plan.stored?.response, target: target, admitted: admitted)
            && !isOlder(decision, target: target, plan: plan)
    }

    /// Erases the stored response, which is outdated, if the new one is not stored. After a status that supersedes
    /// nothing it stays, such as 202, 302 and 401.
    func erasePredecessor(of received: ReceivedResponse, plan: ExchangePlan) {
        guard let identity = plan.context.identity, StoreDecision.superseding.contains(received.status.code) else {
            return
        }
        // Without a known entry there is nothing to write.
        guard plan.stored != nil || peek(identity) != nil else { return }
        cache?.forget(plan.stored?.identity.key ?? identity.key)
    }

    /// Whether a newer response was stored meanwhile, by any process (RFC 9111 section 4: the most recent one is used).
    private func isOlder(
        _ decision: StoreDecision,
        target: ResolvedRequest.Identity,
        plan: ExchangePlan
    ) -> Bool {
        guard let latest = latest(in: target, for: plan.context),
            latest.isNewer(thanOrigin: decision.originTime, sentAt: decision.sentAt)
        else { return false }
        return plan.stored.map { !latest.isUnchanged(since: $0.response) } ?? true
    }

    /// Returns the newest stored response, without its body, that another one would replace or hide. A response under
    /// the request's own key hides all variants, and a variant hides that response.
    private func latest(in target: ResolvedRequest.Identity, for context: RequestContext) -> StoredResponse? {
        guard let identity = context.identity, let found = head(identity) else { return nil }
        guard found.flags.contains(.variants), let index = VariantIndex(found) else { return found }
        guard target.key == identity.key else { return head(target) }
        let variants = Variants(of: identity, context.wire, rules: environment.rules)
        return index.variants.compactMap { head(variants.identity(of: $0, in: index)) }
            .max { $0.originTime < $1.originTime }
    }

    /// Returns what is stored under a key, in memory or on disk. The body is not read from the disk.
    private func head(_ identity: ResolvedRequest.Identity) -> StoredResponse? {
        let known = cache?.peek(identity.key, request: identity.canonicalForm)
        let head =
            known
            ?? (try? cache?.bodyReader(
                identity.key, request: identity.canonicalForm, url: identity.knownURL))?.stored
        return head.flatMap { $0.isOf(kind) ? $0 : nil }
    }

    /// Whether the stored response was requested after the change that has made this response stale.
    ///
    /// - Parameter old: the response that was stored when this one was requested. It may be unchanged: after many
    ///   changes, the log reports every URL as changed.
    func isOvertaken(
        _ old: StoredResponse?,
        target: ResolvedRequest.Identity,
        admitted: Exchange
    ) -> Bool {
        guard invalidations.includes(admitted.context, since: admitted.position),
            let found = cache?.find(target, for: kind), !found.flags.contains(.variants),
            !found.flags.contains(.invalidated)
        else { return false }
        return old.map { !found.isUnchanged(since: $0) } ?? true
    }

    /// Returns an entry, marked stale if it was invalidated during the exchange.
    func marked(_ entry: CacheEntry, admitted: Exchange) -> CacheEntry {
        guard invalidations.includes(admitted.context, groups: entry.groups, since: admitted.position) else {
            return entry
        }
        var entry = entry
        entry.stored.flags.insert(.invalidated)
        return entry
    }

    /// Corrects the stored entry if it was erased or invalidated between the check and the store.
    func checkAgain(_ entry: CacheEntry, admitted: Exchange) {
        guard !invalidations.hasErased(admitted.context, since: admitted.position) else {
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

    /// Returns the stored response in memory, or in the queue of writes; `nil` for the index of variants.
    func peek(_ identity: ResolvedRequest.Identity) -> StoredResponse? {
        cache?.peek(identity.key, request: identity.canonicalForm).flatMap {
            $0.isOf(kind) && !$0.flags.contains(.variants) ? $0 : nil
        }
    }
}

extension Credential {
    /// The header that the secret is filled into; `nil` for a parameter.
    fileprivate var headerName: HTTPField.Name? {
        if case .header(let name, _) = place { name } else { nil }
    }
}
