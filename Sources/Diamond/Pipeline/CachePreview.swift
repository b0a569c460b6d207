package import HTTPTypes

/// The decision about a request, given what is stored now. Nothing is sent.
package struct CachePreview: Sendable {
    /// The URL that is sent, without secrets.
    package let url: String
    /// The key of the request; `nil` if its response can be neither stored nor shared.
    package let key: RequestKey?
    /// The stored response that the request selects, and the key that it is stored under.
    package let stored: (response: StoredResponse, key: RequestKey)?
    package let decision: CacheDecision
    package let policy: CachePolicy
    /// The request's own `Cache-Control`.
    package let control: CacheControl?
    package let kind: CacheKind
    /// The targeted fields of the cache, the most specific first (RFC 9213); none in a private one.
    package let targets: [HTTPField.Name]
}

extension Pipeline {
    /// Returns the decision about a request, given what is stored now.
    func preview(of request: Request) async throws(ConnectionError) -> CachePreview {
        let context = try await resolver.context(of: request, for: Caller())
        let stored = lookup.find(for: context) ?? lookup.part(for: context)
        let decision =
            context.identity == nil
            ? context.resolved.isForCacheOnly ? .fail : .ask(conditionally: false, elseStored: .none)
            : lookup.decision(on: stored?.response, for: context.resolved)
        return CachePreview(
            url: context.wire.entryURL(environment.rules), key: context.identity?.key,
            stored: stored.map { ($0.response, $0.identity.key) }, decision: decision, policy: context.policy,
            control: context.resolved.control.value, kind: cacheKind, targets: lookup.targets)
    }
}

/// A stored part of a representation.
package struct StoredPartPreview: Sendable {
    /// The head of the response.
    package let response: StoredResponse
    /// The stored range, and the size of the whole representation, such as `bytes 2-5/10`.
    package let range: String
}

extension Cache {
    /// Returns the part that is stored under a key; `nil` if there is none that answers ranges.
    ///
    /// - Parameters:
    ///   - request: the canonical form of the request.
    ///   - now: milliseconds since 1970.
    package func partPreview(
        of key: RequestKey,
        request: [UInt8],
        at now: Int64
    ) throws(CacheError) -> StoredPartPreview? {
        guard let body = try part(key, request: request), !body.stored.flags.contains(.variants),
            let part = StoredPart(body.stored, count: body.size, now: now), !part.range.isEmpty
        else { return nil }
        let range = "bytes \(part.range.lowerBound)-\(part.range.upperBound - 1)/\(part.length)"
        return StoredPartPreview(response: part.stored, range: range)
    }
}
