package import HTTPTypes

/// The decision about a request, given what is stored now. Nothing is sent.
package struct CachePreview: Sendable {
    /// The URL that is sent, without secrets.
    package let url: String
    /// The URL of the request's entry (``CacheEntry/url``).
    package let entryURL: String
    /// The key of the request; `nil` if its response can be neither stored nor shared.
    package let key: RequestKey?
    /// The canonical form of the request; `nil` if it cannot be computed.
    package let canonicalForm: String?
    /// The lines by which the request selects a variant, if the key has variants: `vary NAME VALUE`.
    package let selection: [String]
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

extension CachePreview {
    /// The decision about a repetition of the request of an entry, without conditions of its own.
    ///
    /// - Parameters:
    ///   - stored: the stored response, and its key.
    ///   - form: the canonical form of the request.
    ///   - targets: the targeted fields of a shared cache.
    ///   - now: the current time.
    package init(
        repeating stored: (response: StoredResponse, key: RequestKey),
        url: String,
        form: String,
        targets: [HTTPField.Name],
        at now: WallTime
    ) {
        self.url = ForwardedURL(inForm: form)?.text ?? url
        entryURL = url
        key = stored.key
        canonicalForm = form
        selection = []
        self.stored = stored
        kind = stored.response.isOf(.shared) ? .shared : .private
        self.targets = kind == .shared ? targets : []
        decision = CacheDecision(now: now, stored: stored.response, policy: .automatic, targets: self.targets)
        policy = .automatic
        control = nil
    }

    /// The decision about a request.
    ///
    /// - Parameters:
    ///   - stored: the stored response that the request selects.
    ///   - form: the canonical form of the request.
    ///   - entryURL: the URL of the request's entry.
    fileprivate init(
        of context: RequestContext,
        stored: StoredCandidate?,
        form: String?,
        entryURL: String,
        in lookup: CacheLookup
    ) {
        url = form.flatMap { ForwardedURL(inForm: $0)?.text } ?? entryURL
        self.entryURL = entryURL
        key = context.identity?.key
        canonicalForm = form
        selection = lookup.selection(of: context)
        self.stored = stored.map { ($0.response, $0.identity.key) }
        decision =
            context.identity == nil
            ? context.resolved.isForCacheOnly ? .fail : .ask(conditionally: false, elseStored: .none)
            : lookup.decision(on: stored?.response, for: context.resolved)
        policy = context.policy
        control = context.resolved.control.value
        kind = lookup.kind
        targets = lookup.targets
    }
}

extension Pipeline {
    /// Returns the decision about a request, given what is stored now.
    func preview(of request: Request) async throws(ConnectionError) -> CachePreview {
        let context = try await resolver.context(of: request, for: Caller())
        let loaded = await lookup.load(for: context)
        defer { withExtendedLifetime(loaded) {} }
        let stored = lookup.find(for: context) ?? lookup.part(for: context)
        return CachePreview(
            of: context, stored: stored, form: try? CanonicalForm(of: context.wire, rules: environment.rules).text,
            entryURL: context.wire.entryURL(environment.rules), in: lookup)
    }

    /// Returns the reason why the rules forbid to store the response of an exchange; `nil` if they allow it.
    ///
    /// - Parameters:
    ///   - response: the response that the server sent.
    ///   - bodySize: the size of its body.
    func storeRefusal(
        of response: Response,
        bodySize: Int,
        to request: Request
    ) async throws(ConnectionError) -> StoreRefusal? {
        let context = try await resolver.context(of: request, for: Caller())
        guard let cache else { return .noCache }
        guard context.identity != nil else { return context.wire.method.isCacheable ? .request : .method }
        let received = ReceivedResponse(
            status: response.status, headers: response.headers, body: response.body, sentAt: lookup.now(),
            receivedAt: lookup.now())
        if let refusal = store.decision(on: received, to: context).refusal { return refusal }
        guard !cache.storage.isTooLarge(bodySize) else { return .tooLarge }
        guard response.status.code >= 500, let stored = lookup.find(for: context)?.response else { return nil }
        return stored.status < 500 ? .serverError : nil
    }
}
