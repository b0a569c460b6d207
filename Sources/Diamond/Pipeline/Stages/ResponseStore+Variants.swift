/// The place of a response among the variants of its request (RFC 9111 section 4.1).
extension ResponseStore {
    /// The place where a response is stored.
    struct Target {
        let identity: ResolvedRequest.Identity
        /// The index of the variants, if the response needs another one than the cache has.
        var newIndex: CacheEntry?
    }

    /// Returns the place for a response: the key of its request, or a key of its own if it varies by a header that is not part of
    /// that key.
    ///
    /// - Parameter now: milliseconds since 1970.
    func target(of decision: StoreDecision, for context: RequestContext, at now: Int64) -> Target? {
        guard let identity = context.identity else { return nil }
        guard let fields = decision.fields else { return Target(identity: identity) }
        let known = cache?.find(identity, for: kind).flatMap { VariantIndex($0) }
        let index = known?.adding(fields) ?? VariantIndex(fields, generation: .random(in: .min ... .max))
        let variant = Variants(of: identity, context.wire, rules: environment.rules).variant(by: fields, in: index)
        guard index != known else { return Target(identity: variant) }
        return Target(identity: variant, newIndex: context.entry(index.stored(at: now, kind: kind), under: identity))
    }
}
