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

    /// Returns the values by which the request selects a variant.
    func selection(by fields: VariantFields) -> VariantSelection {
        VariantSelection(lines: fields.lines(for: wire.headers, rules))
    }

    /// Returns the identity of a variant.
    func identity(of selection: VariantSelection, in index: VariantIndex) -> ResolvedRequest.Identity {
        ResolvedRequest.Identity(of: selection, lines: index.lines(of: selection), among: identity)
    }

    /// Returns the identities of the listed variants whose validators the request may send.
    func listed(in index: VariantIndex) -> [ResolvedRequest.Identity] {
        index.variants.filter { $0.hasCredentials(like: line, isCredential: rules.isCredential) }
            .map { identity(of: $0, in: index) }
    }

    private func line(of name: String) -> [UInt8] { VariantFields([name])?.lines(for: wire.headers, rules) ?? [] }
}
