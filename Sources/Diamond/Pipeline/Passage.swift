import Foundation
import HTTPTypes

/// One request on its way, one hop of it: resolved, with its identity where the cache has a say.
struct Passage: Sendable {
    struct Identity: Sendable {
        var key: RequestKey
        var canonicalForm: [UInt8]
        /// For people: secrets masked.
        var printableURL: String
    }

    let wire: WireRequest
    /// The request's policy, with its own `Cache-Control` taken into account.
    let policy: CachePolicy
    let timeout: Duration?
    /// The request's own.
    var retry: RetryPolicy? { ownRetry.value }
    private let ownRetry: Boxed<RetryPolicy>
    /// The request's own.
    let bodyLimit: Int?
    let tags: Set<String>
    /// Where it stands in line for the wire.
    let place: FlightPlace
    /// The URL that is sent, without user info and without secrets that are filled in later.
    let url: String
    /// `nil` when the cache is neither read nor written.
    private(set) var identity: Identity?
    /// Whether ranges are defined for the request, and none of the caller's own is in it, nor a condition: what was
    /// received of its answer can then be gone on with (RFC 9110 section 14.2).
    let isContinuable: Bool
    /// What ``Forgotten`` counted when it set out.
    var epoch: Int
    /// Whether a redirect has led away from the origin that was asked.
    var isForeign = false
    /// Who asks.
    var asker = Asker()

    init(_ request: Request, rules: KeyRules?, at epoch: Int = 0) throws(ConnectionError) {
        self.epoch = epoch
        do throws(RequestError) {
            wire = try WireRequest(request)
            policy = Self.policy(of: request)
            timeout = request.timeout
            ownRetry = Boxed(request.retry)
            bodyLimit = request.bodyLimit
            tags = request.tags
            place = FlightPlace(lane: request.lane, origin: String(decoding: wire.url.origin, as: UTF8.self))
            url = wire.url.text(adding: wire.parameterItems)
            identity = try Self.identity(of: wire, policy, rules)
            isContinuable = wire.method == .get && wire.body == nil && !Self.hasConditions(wire.headers)
        } catch {
            throw ConnectionError(error)
        }
    }

    private static func identity(
        of wire: WireRequest,
        _ policy: CachePolicy,
        _ rules: KeyRules?
    ) throws(RequestError) -> Identity? {
        let isCacheable = [.get, .head, .query].contains(wire.method) && !isForTheServerAlone(wire.headers)
        let isAnonymous = wire.identity == nil && !wire.namedCredentials.isEmpty
        guard let rules, policy.mode != .noStore, isCacheable, !isAnonymous else { return nil }
        let form = try CanonicalForm(of: wire, rules: rules)
        return Identity(key: form.key, canonicalForm: form.bytes, printableURL: wire.printableURL(rules))
    }

    private static let conditions: [HTTPField.Name] = [
        .range, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .ifRange,
    ]

    /// The caller's own conditions and ranges ask for an answer to exactly them, and `no-store` says it: the cache keeps
    /// out.
    private static func isForTheServerAlone(_ headers: HTTPFields) -> Bool {
        hasConditions(headers) || CacheControl(headers).noStore
    }

    private static func hasConditions(_ headers: HTTPFields) -> Bool { conditions.contains { headers[$0] != nil } }

    private static func policy(of request: Request) -> CachePolicy {
        var policy = request.cache
        guard request.headers[.cacheControl] != nil else { return policy }
        let control = CacheControl(request.headers)
        if control.noCache || control.maxAge == 0, policy.mode == .automatic { policy.mode = .revalidate }
        if control.onlyIfCached { policy.mode = .cacheOnly }
        return policy
    }

    /// The same where cookies of a jar go along: without an identity nobody knows whose its answer is.
    func considering(_ cookies: CookieJar?, at now: Date) -> Passage {
        guard let cookies, identity != nil, wire.identity == nil, wire.headers[.cookie] == nil,
            cookies.has(for: url, of: nil, at: now)
        else { return self }
        var passage = self
        passage.identity = nil
        return passage
    }

    /// Whether it has a secret that could be made anew.
    var mayBeRenewed: Bool { !wire.namedCredentials.isEmpty }

    /// The answer where only the cache may answer and cannot (RFC 9111 section 5.2.1.7).
    var nothingStored: Response { Response(status: .gatewayTimeout, source: .generated, url: url) }

    /// `nil` where nothing is stored for it.
    var subject: CacheSubject? {
        identity.map { CacheSubject(key: $0.key, url: $0.printableURL, tags: tags, identity: wire.identity) }
    }

    func entry(_ stored: StoredResponse) -> CacheEntry? {
        guard let identity else { return nil }
        return CacheEntry(
            key: identity.key,
            request: identity.canonicalForm,
            url: identity.printableURL,
            method: wire.method == .head ? "GET" : wire.method.rawValue,
            identity: wire.identity,
            stored: stored,
            tags: tags
        )
    }

    /// What goes on the wire, with the stored response's validators where there are some (RFC 9111 section 4.3.1).
    ///
    /// - Parameter wire: the request with its secrets filled in.
    func transportRequest(
        _ wire: WireRequest,
        validators stored: StoredResponse?
    ) throws(ConnectionError) -> TransportRequest {
        var items = wire.parameterItems
        items.append(contentsOf: wire.filledItems)
        let url = wire.url.text(adding: items)
        var request = TransportRequest(method: wire.method, url: url, headers: wire.headers, timeout: timeout)
        if let stored {
            let headers = stored.headers
            if let tag = headers[.eTag] { request.headers[.ifNoneMatch] = tag }
            if let date = headers[.lastModified] { request.headers[.ifModifiedSince] = date }
        }
        do throws(RequestError) {
            if let body = wire.body { try request.carry(body, wire.encoding) }
        } catch {
            throw ConnectionError(error)
        }
        return request
    }
}

extension TransportRequest {
    /// Takes a body: whole where it is in memory, else in pieces, which can be made again for every attempt.
    fileprivate mutating func carry(_ body: RequestBody, _ encoding: ParameterEncoding) throws(RequestError) {
        let boundary = RequestBody.randomBoundary()
        let segments = try body.segments(encoding, boundary: boundary)
        if case .multipart = body { headers[.contentType] = "multipart/form-data; boundary=\(boundary)" }
        if segments.count == 1, case .bytes(let data) = segments[0] {
            self.body = .bytes(data)
        } else {
            let length = segments.reduce(0) { $0 + $1.length }
            self.body = .stream(length: length) { BodyPieces(segments: segments) }
        }
    }
}
