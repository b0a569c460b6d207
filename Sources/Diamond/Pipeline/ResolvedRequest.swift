import Foundation
import HTTPTypes

/// A request with all that is worked out before it is looked up: absolute URL, headers, policy, identity and key.
///
/// Worked out once for a request and its copies. A class, because a request goes through every stage.
final class ResolvedRequest: Sendable {
    /// The key of a request, and what is stored with an entry under it.
    struct Identity: Sendable {
        var key: RequestKey
        var canonicalForm: [UInt8]
        /// ``CacheEntry/url``.
        var entryURL: String
        /// Whether every entry with the key has that URL.
        var hasOneURL: Bool
        /// ``CacheEntry/isFoundByOthers``.
        var isFoundByOthers: Bool

        /// ``CacheEntry/url`` of whatever is stored under the key; `nil` where that is not known.
        var knownURL: String? { hasOneURL ? entryURL : nil }
    }

    let wire: WireRequest
    /// The request's policy, with its own `Cache-Control` taken into account.
    let policy: CachePolicy
    let timeout: Duration?
    // It is large, and few have one.
    private let ownRetry: IndirectOptional<RetryPolicy>
    /// The request's own limit; `nil` for the engine's.
    let bodyLimit: Int?
    let tags: Set<String>
    /// The lane and the origin that limit its exchanges.
    let place: PermitScope
    /// The URL that is sent, without user info and without secrets that are filled in later.
    let url: String
    /// `nil` when the response is this request's alone.
    let identity: IndirectOptional<Identity>
    /// Whether ranges are defined for the request, and it has neither a range nor a condition of its own: a response that breaks
    /// can then be continued (RFC 9110 section 14.2).
    let isContinuable: Bool
    /// Whether secrets are to be filled in that can be renewed.
    let hasNamedSecrets: Bool
    /// The files that the identity was computed from, as they were then.
    let files: [FileFingerprint]

    /// - Parameter request: complete, with absolute URL, headers and identity.
    init(_ request: borrowing Request, _ rules: KeyRules) throws(ConnectionError) {
        do throws(RequestError) {
            let wire = try WireRequest(request)
            let isUnconditional = !Self.hasConditions(wire.headers)
            self.wire = wire
            hasNamedSecrets = !wire.namedCredentials.isEmpty
            policy = Self.policy(of: request)
            timeout = request.timeout
            ownRetry = IndirectOptional(request.retry)
            bodyLimit = request.bodyLimit
            tags = request.tags
            place = PermitScope(lane: request.lane, origin: String(decoding: wire.url.origin, as: UTF8.self))
            url = wire.url.text(adding: wire.parameterItems)
            isContinuable = wire.method == .get && wire.body == nil && isUnconditional
            guard isUnconditional, Self.isKeyed(wire, policy) else {
                identity = .none
                files = []
                return
            }
            // Before they are read: a file that changes from now on is another request's body.
            files = wire.cacheKey == nil ? wire.body?.files.compactMap { FileFingerprint($0.path) } ?? [] : []
            let form = try CanonicalForm(of: wire, rules: rules)
            identity = .some(
                Identity(
                    key: form.key, canonicalForm: form.bytes, entryURL: wire.entryURL(rules),
                    hasOneURL: Self.hasOneURL(wire, rules), isFoundByOthers: wire.isFoundByOthers(rules)))
        } catch {
            throw ConnectionError(error)
        }
    }

    /// The request's own retry policy; `nil` for the engine's.
    var retry: RetryPolicy? { ownRetry.value }

    /// The response where only the cache may answer and cannot (RFC 9111 section 5.2.1.7).
    var nothingStored: Response { Response(status: .gatewayTimeout, source: .generated, url: url) }

    /// Whether the response may be stored and shared.
    private static func isKeyed(_ wire: WireRequest, _ policy: CachePolicy) -> Bool {
        let isCacheable = wire.method.isCacheable && !CacheControl(wire.headers).noStore
        let isAnonymous = wire.identity == nil && !wire.namedCredentials.isEmpty
        return policy.mode != .noStore && isCacheable && !isAnonymous
    }

    /// `false` with a key of the app's own, where an identity replaces parameters, and where the request ignores some.
    private static func hasOneURL(_ wire: WireRequest, _ rules: KeyRules) -> Bool {
        let hasReplaced = wire.identity != nil && !(rules.own.secrets.isEmpty && wire.rules.secrets.isEmpty)
        return wire.cacheKey == nil && wire.rules.ignoring.isEmpty && !hasReplaced
    }

    private static let conditions: [HTTPField.Name] = [
        .range, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .ifRange,
    ]

    /// Whether the caller asks for a response to its own conditions, which no cache answers.
    private static func hasConditions(_ headers: HTTPFields) -> Bool {
        headers.contains { conditions.contains($0.name) }
    }

    private static func policy(of request: borrowing Request) -> CachePolicy {
        var policy = request.cache
        guard request.headers.contains(.cacheControl) else { return policy }
        let control = CacheControl(request.headers)
        if control.noCache || control.maxAge == 0, policy.mode == .automatic { policy.mode = .revalidate }
        if control.onlyIfCached { policy.mode = .cacheOnly }
        return policy
    }
}

// MARK: Remembering

extension ResolvedRequest {
    /// Returns what was worked out for a request before; `nil` where nothing was.
    ///
    /// - Parameter environment: the number of the environment that it was worked out in.
    static func known(by memo: RequestMemo, in environment: Int) -> ResolvedRequest? {
        memo.value(by: environment, as: ResolvedRequest.self)
    }

    func keep(in memo: RequestMemo, by environment: Int) { memo.store(self, by: environment) }
}
