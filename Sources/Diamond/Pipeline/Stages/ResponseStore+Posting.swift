import Foundation
import HTTPTypes

/// The responses to POST that answer later GETs (RFC 9110 section 9.3.3).
extension ResponseStore {
    /// The entry of a response to POST.
    struct EntryForGet {
        var entry: CacheEntry
        /// The index of the variants, if the response needs another one than the cache has.
        let newIndex: CacheEntry?
    }

    /// Returns the entry that the response to a POST is stored as, for GETs of the same URL; `nil` if it is not for
    /// them.
    ///
    /// The response names the URL in `Content-Location`, has an explicit lifetime, and does not vary by headers that
    /// only a POST has.
    func entryForGet(of received: ReceivedResponse, admitted: Exchange) -> EntryForGet? {
        let context = admitted.context
        guard cache != nil, context.wire.method == .post, !received.isPersonal, isForGets(context),
            Redirect.target(.contentLocation, of: received.headers, from: context.wire)?.url.text() == context.url,
            let new = entryForGet(decision(on: received, to: context, method: .get), received, to: context)
        else { return nil }
        let entry = new.entry
        let subject = CacheSubject(
            key: entry.requestKey ?? entry.key, url: entry.url, isFoundByOthers: entry.isFoundByOthers,
            tags: entry.tags.union(entry.groups),
            identity: entry.identity)
        let isOutdated =
            invalidations.includes(subject, since: admitted.position)
            || invalidations.hasLogout(of: entry.identity, since: context.resolvedAt)
        return isOutdated ? nil : new
    }

    /// Whether the body of a response to POST is collected, because it may answer GETs.
    func mayAnswerGets(_ received: ReceivedResponse, to context: RequestContext) -> Bool {
        context.wire.method == .post && received.headers.contains(.contentLocation) && isForGets(context)
            && storedForGet(decision(on: received, to: context, method: .get), of: received) != nil
    }

    /// Stores the response to a POST for GETs, in the place of an older one.
    func add(_ new: EntryForGet) {
        if let index = new.newIndex { cache?.store(index) }
        cache?.store(new.entry, replacing: true)
    }

    /// Returns the response as it is stored for GETs; `nil` if it may not be.
    private func storedForGet(_ decision: StoreDecision, of received: ReceivedResponse) -> StoredResponse? {
        guard received.status.kind == .successful, let stored = decision.stored, stored.lifetime != nil,
            !stored.flags.contains(.heuristic),
            !received.headers[values: .vary].flatMap(\.listElements).contains(where: isOfPost)
        else { return nil }
        return stored
    }

    /// Whether only a POST has the header.
    private func isOfPost(_ header: String) -> Bool {
        HTTPField.Name(header).map { $0.isOfBody || $0.isIdempotencyKey } ?? false
    }

    /// Whether the request leaves its response to the cache, and the user of the response is known.
    private func isForGets(_ context: RequestContext) -> Bool {
        let wire = context.wire
        let isAnonymous = wire.identity == nil && (hasCookies || !wire.namedCredentials.isEmpty)
        return (lookup.usesHTTPRules || context.policy.storesPost) && context.policy.mode != .noStore
            && context.resolved.control.value?.noStore != true && !isAnonymous && !context.traits.contains(.stripped)
    }

    private func entryForGet(
        _ decision: StoreDecision,
        _ received: ReceivedResponse,
        to context: RequestContext
    ) -> EntryForGet? {
        guard let stored = storedForGet(decision, of: received), let identity = identityForGet(of: context.wire),
            let target = target(of: decision, for: context, under: identity, at: received.receivedAt)
        else { return nil }
        var entry = context.entry(stored, under: target.identity)
        entry.method = "GET"
        return EntryForGet(entry: entry, newIndex: target.newIndex)
    }

    /// Returns the identity of a GET of the same URL, with the same headers.
    private func identityForGet(of wire: WireRequest) -> ResolvedRequest.Identity? {
        var get = wire
        get.method = .get
        get.body = nil
        for name in Set(get.headers.map(\.name)) where name.isOfBody || name.isIdempotencyKey {
            get.headers[name] = nil
        }
        return try? ResolvedRequest.Identity(of: get, rules: environment.rules)
    }
}
