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
