/// The selection of a variant (RFC 9111 section 4.1).
extension CacheLookup {
    /// Returns the stored response that a request selects: the one under its key, or the most recent of the variants whose fields
    /// match.
    ///
    /// - Parameter find: returns what is stored under an identity.
    @inline(__always)
    func selected(
        by identity: ResolvedRequest.Identity,
        of wire: WireRequest,
        find: (ResolvedRequest.Identity) -> StoredCandidate?
    ) -> StoredCandidate? {
        guard let found = find(identity), found.response.isOf(kind) else { return nil }
        guard found.response.flags.contains(.variants) else { return found }
        return variant(in: found.response, by: identity, of: wire, find: find)
    }

    @inline(never)
    private func variant(
        in stored: StoredResponse,
        by identity: ResolvedRequest.Identity,
        of wire: WireRequest,
        find: (ResolvedRequest.Identity) -> StoredCandidate?
    ) -> StoredCandidate? {
        guard let index = VariantIndex(stored) else { return nil }
        let found = Variants(of: identity, wire, rules: rules).identities(in: index).compactMap(find)
        return found.filter { $0.response.isOf(kind) }.max { $0.response.originTime < $1.response.originTime }
    }
}
