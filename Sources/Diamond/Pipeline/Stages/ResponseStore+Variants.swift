import HTTPTypes

/// The place of a response among the variants of its request (RFC 9111 section 4.1).
extension ResponseStore {
    /// The place where a response is stored.
    struct Target {
        let identity: ResolvedRequest.Identity
        /// The index of the variants, if the response needs another one than the cache has.
        var newIndex: CacheEntry?
    }

    /// Returns the place for a response: the key of its request, or a key of its own if it varies by a header that is
    /// not part of that key.
    ///
    /// - Parameters:
    ///   - other: the identity of the requests that the response answers, if it is not that of the request.
    ///   - now: the current time.
    func target(
        of decision: StoreDecision, for context: RequestContext, under other: ResolvedRequest.Identity? = nil,
        at now: WallTime
    ) -> Target? {
        guard let identity = other ?? context.identity else { return nil }
        guard let fields = decision.fields else { return Target(identity: identity) }
        let known = cache?.find(identity, for: kind).flatMap { VariantIndex($0) }
        let variants = Variants(of: identity, context.wire, rules: environment.rules)
        let selection = variants.selection(by: fields)
        let index = (known ?? VariantIndex(fields, generation: .random(in: .min ... .max)))
            .adding(fields).adding(variant: selection)
        let variant = variants.identity(of: selection, in: index)
        guard index != known else { return Target(identity: variant) }
        return Target(identity: variant, newIndex: context.entry(index.stored(at: now, kind: kind), under: identity))
    }

    /// Updates a variant by a 304 to a request that does not select it, and notes that it answers such requests, too
    /// (section 4.3.4).
    func select(_ candidate: StoredCandidate, by received: ReceivedResponse, admitted: Exchange) -> Confirmed {
        var confirmed = confirm(candidate, by: received, admitted: admitted)
        let context = admitted.context
        let rules = rules(for: context, adapted: received.adaptedHeaders)
        guard !confirmed.isToBeErased else {
            confirmed.isToBeErased = isForbidden(candidate.response, by: received, rules: rules)
            return confirmed
        }
        guard !received.isPersonal, !invalidations.hasErased(context, since: admitted.position),
            let tag = confirmed.stored.headers.validator(.eTag), let variant = candidate.identity.selection,
            let identity = context.identity,
            let known = cache?.find(identity, for: kind).flatMap({ VariantIndex($0) }),
            let fields = StoreDecision.fields(of: confirmed.stored, rules: rules)
        else { return confirmed }
        let selection = Variants(of: identity, context.wire, rules: environment.rules).selection(by: fields)
        let index = known.adding(fields).adding(
            VariantIndex.Confirmation(selection: selection, variant: variant, tag: tag))
        if index != known {
            cache?.store(context.entry(index.stored(at: received.receivedAt, kind: kind), under: identity))
        }
        return confirmed
    }

    /// Whether a 304 forbids to store a variant even if the requests that select the variant have no credentials.
    private func isForbidden(_ variant: StoredResponse, by received: ReceivedResponse, rules: StoreRules) -> Bool {
        var rules = rules
        rules.isAuthorized = false
        rules.hasCredentials = false
        let decision = StoreDecision(
            confirming: variant, by: received.headers, sentAt: received.sentAt, receivedAt: received.receivedAt,
            rules: rules)
        return decision.stored == nil
    }
}
