import Foundation
import HTTPTypes

/// The responses to POST that answer later GETs (RFC 9110 section 9.3.3).
extension ResponseStore {
    /// Returns the entry that the response to a POST is stored as, for GETs of the same URL; `nil` if it is not for them.
    ///
    /// The response names the URL in `Content-Location`, has an explicit lifetime, and does not vary by headers outside the key.
    func entryForGet(of received: ReceivedResponse, admitted: ExchangeRequest) -> CacheEntry? {
        let context = admitted.plan.context
        guard cache != nil, storesPosts, context.wire.method == .post, !received.isPersonal, isForGets(context),
            Redirect.target(.contentLocation, of: received.headers, from: context.wire)?.url.text() == context.url,
            let stored = storedForGet(received, to: context),
            stored.lifetime != nil, !stored.flags.contains(.heuristic),
            let entry = entryForGet(stored, to: context)
        else { return nil }
        let subject = CacheSubject(
            key: entry.key, url: entry.url, isFoundByOthers: entry.isFoundByOthers,
            tags: entry.tags.union(entry.groups),
            identity: entry.identity)
        let isOutdated =
            invalidations.includes(subject, since: admitted.sentAt)
            || invalidations.hasLogout(of: entry.identity, since: context.resolvedAt)
        return isOutdated ? nil : entry
    }

    /// Returns the response as it is stored for GETs; `nil` if it may not be.
    func storedForGet(_ received: ReceivedResponse, to context: RequestContext) -> StoredResponse? {
        guard storesPosts, received.status.kind == .successful else { return nil }
        let decision = decision(on: received, to: context, method: .get)
        return decision.fields == nil ? decision.stored : nil
    }

    /// Whether the request leaves its response to the cache, and the user of the response is known.
    private func isForGets(_ context: RequestContext) -> Bool {
        let wire = context.wire
        let isAnonymous = wire.identity == nil && (hasCookies || !wire.namedCredentials.isEmpty)
        return context.policy.mode != .noStore && context.resolved.control.value?.noStore != true && !isAnonymous
            && !context.traits.contains(.stripped)
    }

    private func entryForGet(_ stored: StoredResponse, to context: RequestContext) -> CacheEntry? {
        var get = context.wire
        get.method = .get
        get.body = nil
        for name in Set(get.headers.map(\.name)) where name.isOfBody || name.isIdempotencyKey {
            get.headers[name] = nil
        }
        guard let form = try? CanonicalForm(of: get, rules: environment.rules) else { return nil }
        var entry = CacheEntry(
            key: form.key, request: form.bytes, url: get.entryURL(environment.rules),
            isFoundByOthers: get.isFoundByOthers(environment.rules), method: "GET", identity: get.identity,
            stored: stored, tags: context.resolved.tags)
        entry.groups = CacheGroups.names(of: stored.headers, origin: context.permitScope.origin)
        return entry
    }
}
