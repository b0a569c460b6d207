import Foundation
import HTTPTypes

/// A request with the values that are computed before the look-up: absolute URL, headers, policy, identity and key.
///
/// It is computed once for a request and its copies. It is a class because every stage has it.
final class ResolvedRequest: Sendable {
    /// The key of a request, and what is stored with an entry under it.
    ///
    /// It is a class because every lookup has it.
    final class Identity: Sendable {
        let key: RequestKey
        let canonicalForm: [UInt8]
        /// ``CacheEntry/url``.
        let entryURL: String
        /// Whether every entry with the key has that URL.
        let hasOneURL: Bool
        /// ``CacheEntry/isFoundByOthers``.
        let isFoundByOthers: Bool
        /// The key of the request, if this is the identity of a variant, with a key of its own.
        let requestKey: RequestKey?
        /// The values that select the variant; `nil` if this is no variant.
        let selection: VariantSelection?

        init(of wire: WireRequest, rules: KeyRules) throws(RequestError) {
            let form = try CanonicalForm(of: wire, rules: rules)
            key = form.key
            canonicalForm = form.bytes
            entryURL = wire.entryURL(rules)
            hasOneURL = ResolvedRequest.hasOneURL(wire, rules: rules)
            isFoundByOthers = wire.isFoundByOthers(rules)
            requestKey = nil
            selection = nil
        }

        /// Creates the identity of a variant.
        ///
        /// - Parameter lines: the lines of the selection in the canonical form.
        init(of selection: VariantSelection, lines: [UInt8], among request: Identity) {
            canonicalForm = request.canonicalForm + lines
            key = RequestKey(of: canonicalForm)
            entryURL = request.entryURL
            hasOneURL = request.hasOneURL
            isFoundByOthers = request.isFoundByOthers
            requestKey = request.key
            self.selection = selection
        }

        /// ``CacheEntry/url`` of every entry with the key; `nil` if that is not known.
        var knownURL: String? { hasOneURL ? entryURL : nil }
    }

    let wire: WireRequest
    let policy: CachePolicy
    /// The request's own `Cache-Control`; few have one.
    let control: IndirectOptional<CacheControl>
    let timeout: Duration?
    // Indirect, because it is large and rare.
    private let ownRetry: IndirectOptional<RetryPolicy>
    /// The request's own limit; `nil` for the engine's.
    let bodyLimit: Int?
    let tags: Tags
    /// The tags that the request makes stale.
    let invalidates: Tags
    /// The lane and the origin that limit its exchanges.
    let permitScope: PermitScope
    /// The URL that is sent, without user info and without secrets that are filled in later.
    let url: String
    /// The identity; `nil` if the response can be neither stored nor shared.
    let identity: Identity?
    /// Whether a response that breaks can be continued: the request is a GET without a range or a condition of its own
    /// (RFC 9110 section 14.2).
    let isContinuable: Bool
    /// The conditions and the range of its own that the cache evaluates; few have any.
    let conditions: IndirectOptional<RequestConditions>
    /// Whether named secrets are filled in before it is sent.
    let hasNamedSecrets: Bool
    /// The fingerprints of the files that the identity was computed from.
    let files: [FileFingerprint]

    /// - Parameter request: a request with absolute URL, headers and identity.
    init(_ request: borrowing Request, rules: KeyRules) throws(ConnectionError) {
        do throws(RequestError) {
            let wire = try WireRequest(request)
            let hasConditions = Self.hasConditions(wire.headers)
            self.wire = wire
            hasNamedSecrets = !wire.namedCredentials.isEmpty
            policy = request.cache
            control = .init(CacheControl(ofRequest: wire.headers))
            timeout = request.timeout
            ownRetry = IndirectOptional(request.retry)
            bodyLimit = request.bodyLimit
            tags = request.tags
            invalidates = request.invalidates
            permitScope = PermitScope(lane: request.lane, origin: String(decoding: wire.url.origin, as: UTF8.self))
            url = wire.url.text(adding: wire.parameterItems)
            isContinuable = wire.method == .get && wire.body == nil && !hasConditions
            conditions = .init(hasConditions ? RequestConditions(wire.headers, method: wire.method) : nil)
            let isForOrigin = hasConditions && RequestConditions.isForOrigin(wire.headers)
            guard !isForOrigin, Self.isKeyed(wire, policy: policy, control: control.value) else {
                identity = nil
                files = []
                return
            }
            // Before they are read: a file that changes from now on is the body of another request.
            files = wire.cacheKey == nil ? wire.body?.files.compactMap { FileFingerprint($0.path) } ?? [] : []
            identity = try Identity(of: wire, rules: rules)
        } catch {
            throw ConnectionError(error)
        }
    }

    /// Creates a copy of a request, without the conditions and the range of its own.
    private init(withoutConditions other: ResolvedRequest) {
        var wire = other.wire
        for name in Self.conditions { wire.headers[name] = nil }
        self.wire = wire
        policy = other.policy
        control = other.control
        timeout = other.timeout
        ownRetry = other.ownRetry
        bodyLimit = other.bodyLimit
        tags = other.tags
        invalidates = other.invalidates
        permitScope = other.permitScope
        url = other.url
        identity = other.identity
        isContinuable = wire.method == .get && wire.body == nil
        conditions = .none
        hasNamedSecrets = other.hasNamedSecrets
        files = other.files
    }

    /// The request without the conditions and the range of its own.
    var withoutConditions: ResolvedRequest {
        Self.hasConditions(wire.headers) ? ResolvedRequest(withoutConditions: self) : self
    }

    /// Returns the form in which a stored response answers the request.
    ///
    /// - Parameter now: the current time.
    func form(of stored: StoredResponse, at now: WallTime) -> RequestConditions.Form {
        conditions.value?.form(of: stored, now: now) ?? .whole
    }

    /// The request's own retry policy; `nil` for the engine's.
    var retry: RetryPolicy? { ownRetry.value }

    /// Whether the server must not be asked: by the app's policy, or by the request's `only-if-cached`.
    var isForCacheOnly: Bool { policy.mode == .cacheOnly || control.value?.onlyIfCached == true }

    /// The response if only the cache may answer and cannot (RFC 9111 section 5.2.1.7).
    var nothingStored: Response { Response(status: .gatewayTimeout, source: .generated, url: url) }

    /// Whether the response may be stored and shared.
    private static func isKeyed(_ wire: WireRequest, policy: CachePolicy, control: CacheControl?) -> Bool {
        let isCacheable = wire.method.isCacheable && control?.noStore != true
        let isAnonymous = wire.identity == nil && !wire.namedCredentials.isEmpty
        return policy.mode != .noStore && isCacheable && !isAnonymous
    }

    /// Whether all entries with the key have one URL. They may differ if the app has set the key, if an identity
    /// replaces parameters, or if the request ignores some.
    fileprivate static func hasOneURL(_ wire: WireRequest, rules: KeyRules) -> Bool {
        let hasReplaced = wire.replacesCredentials && !(rules.own.secrets.isEmpty && wire.rules.secrets.isEmpty)
        return wire.cacheKey == nil && wire.rules.ignoring.isEmpty && !hasReplaced
    }

    private static let conditions: [HTTPField.Name] = [
        .range, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .ifRange,
    ]

    /// Whether the caller has set conditions or a range.
    private static func hasConditions(_ headers: HTTPFields) -> Bool {
        headers.contains { conditions.contains($0.name) }
    }
}

// MARK: Memory

extension ResolvedRequest {
    /// Returns the resolved form of a request that was computed before; `nil` if there is none.
    ///
    /// - Parameter environment: the number of the environment that it was computed in.
    static func known(by memo: RequestMemo, in environment: Int) -> ResolvedRequest? {
        memo.value(by: environment, as: ResolvedRequest.self)
    }
}
