/// The variants that a request selects (RFC 9111 section 4.1).
struct Variants {
    let identity: ResolvedRequest.Identity
    let wire: WireRequest
    let rules: KeyRules

    /// - Parameter rules: the engine's rules.
    init(of identity: ResolvedRequest.Identity, _ wire: WireRequest, rules: KeyRules) {
        self.identity = identity
        self.wire = wire
        self.rules = rules.adding(wire)
    }

    /// Returns the identities of the variants that an index may have for the request. The newest set of fields comes
    /// first.
    func identities(in index: VariantIndex) -> [ResolvedRequest.Identity] {
        index.sets.map { variant(by: $0, in: index) }
    }

    /// Returns the identity of the variant that a set of fields selects.
    func variant(by fields: VariantFields, in index: VariantIndex) -> ResolvedRequest.Identity {
        var variant = identity
        variant.canonicalForm += index.lines(for: fields, of: wire.headers, rules)
        variant.key = RequestKey(of: variant.canonicalForm)
        variant.requestKey = identity.key
        return variant
    }
}
