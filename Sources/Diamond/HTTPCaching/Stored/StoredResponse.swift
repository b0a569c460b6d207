package import Foundation
package import HTTPTypes

/// A response as the cache stores it. Durations are in milliseconds.
package struct StoredResponse: Sendable, Equatable {
    /// The facts about reuse. They are stored apart from the headers, so that a hit need not read the headers.
    package struct Flags: OptionSet, Sendable {
        package let rawValue: Int64
        package init(rawValue: Int64) { self.rawValue = rawValue }

        package static let noCache = Flags(rawValue: 1)
        package static let hasValidator = Flags(rawValue: 2)
        package static let mustRevalidate = Flags(rawValue: 4)
        /// Marked stale by an invalidation, whatever the lifetime.
        package static let invalidated = Flags(rawValue: 8)
        /// Excluded from eviction.
        package static let pinned = Flags(rawValue: 16)
        /// The chunks of its body are compressed. Only rows have this flag; a lookup removes it.
        package static let compressed = Flags(rawValue: 32)
        /// Its body is a part. Only rows have this flag.
        package static let partial = Flags(rawValue: 64)
        /// The lifetime is heuristic, because the server gives none.
        package static let heuristic = Flags(rawValue: 128)
        /// Stored by a shared cache. A private cache does not use it.
        package static let shared = Flags(rawValue: 256)
        /// The index of the variants under the key, and no response.
        package static let variants = Flags(rawValue: 512)
        /// The users of a shared cache may have it without validation. Responses that were stored by older versions do
        /// not have the flag.
        package static let forAllUsers = Flags(rawValue: 1024)
        /// The server has sent the content coding to a client that does not name it.
        package static let fixedCoding = Flags(rawValue: 2048)
    }

    package var status: Int
    /// The headers as `Name: value` lines, which are parsed on demand.
    package var headerBlock: Data {
        get { content.headerBlock }
        set { content = Content(headerBlock: newValue, body: body) }
    }
    package var body: Data {
        get { content.body }
        set { content = Content(headerBlock: headerBlock, body: newValue, fields: content.fields) }
    }
    /// The number of bytes of the body that are not in ``body``: all of them if the body is read in pieces.
    var sizeElsewhere = 0
    /// The time at which the response arrived or was last confirmed.
    package var storedAt: WallTime
    package var initialAge: Int64
    package var lifetime: Int64?
    package var flags: Flags
    /// The duration of the exchange that brought the response. A hit saves this time.
    package var duration: Int64
    private var content: Content

    package init(
        status: Int,
        headerBlock: Data,
        body: Data,
        storedAt: WallTime,
        initialAge: Int64,
        lifetime: Int64?,
        flags: Flags,
        duration: Int64 = 0
    ) {
        self.status = status
        content = Content(headerBlock: headerBlock, body: body)
        self.storedAt = storedAt
        self.initialAge = initialAge
        self.lifetime = lifetime
        self.flags = flags
        self.duration = duration
    }

    /// The number of bytes of the whole body.
    var bodySize: Int { body.count + sizeElsewhere }

    /// Whether the body is in ``body``.
    package var isWhole: Bool { sizeElsewhere == 0 }

    /// The response without its body, but with its size.
    var withoutBody: StoredResponse {
        var head = self
        head.body = Data()
        head.sizeElsewhere = bodySize
        return head
    }

    /// Returns the response with its body. If the body is not here, it is that of the confirmed response.
    func completed(by confirmed: StoredResponse) -> StoredResponse {
        guard !isWhole else { return self }
        var whole = self
        whole.body = confirmed.body
        whole.sizeElsewhere = confirmed.sizeElsewhere
        return whole
    }

    /// Whether the response is still the same as when it was read: it was not replaced, confirmed or marked stale
    /// since.
    ///
    /// A response that was read as stale, and is not marked now, counts as unchanged. If its URL is not known, it is
    /// read as stale for every invalidation that is not written yet.
    func isUnchanged(since other: StoredResponse) -> Bool {
        storedAt == other.storedAt && bodySize == other.bodySize && headerBlock == other.headerBlock
            && flags.intersection(.invalidated).isSubset(of: other.flags)
    }

    package var headers: HTTPFields { content.fields ?? HeaderBlock.fields(of: headerBlock) }

    /// Parses the headers once for all copies made from now on, so that a hit in memory need not parse them.
    mutating func readHeaders() { know(headers) }

    /// Stores the parsed headers.
    ///
    /// - Parameter headers: the headers of ``headerBlock``.
    mutating func know(_ headers: HTTPFields) {
        content = Content(headerBlock: headerBlock, body: body, fields: headers)
    }

    /// The time at which the origin generated or confirmed the response.
    var originTime: WallTime { storedAt - initialAge }

    /// The time at which its request was sent.
    var sentAt: WallTime { storedAt - duration }

    /// Whether the response is more recent than another one (RFC 9111 section 4). `Date` counts whole seconds: of two
    /// responses from the same second, the later request has the newer one.
    func isNewer(thanOrigin originTime: WallTime, sentAt: WallTime) -> Bool {
        (self.originTime, self.sentAt) > (originTime, sentAt)
    }

    /// Returns the age: the milliseconds since ``originTime`` (RFC 9111 section 4.2.3).
    package func age(at now: WallTime) -> Int64 { initialAge + max(0, now.milliseconds(since: storedAt)) }

    /// Whether the response may be reused without validation.
    ///
    /// - Parameter maxAge: the app's lifetime if the server gives none; it replaces a heuristic one.
    func isFresh(at now: WallTime, maxAge: Int64?) -> Bool {
        guard !needsValidation(at: now) else { return false }
        return remainingLifetime(at: now, maxAge: maxAge) > 0
    }

    /// Whether the response must be validated whatever its lifetime: by `no-cache`, after an invalidation, because it
    /// may be for one user of a shared cache, or because the clock was set back.
    package func needsValidation(at now: WallTime) -> Bool {
        !flags.isDisjoint(with: [.noCache, .invalidated]) || mayBeForOneUser || isFromTheFuture(now)
    }

    /// Whether the response of a shared cache may be for one user: the server has given no lifetime, and the request
    /// may have had credentials.
    package var mayBeForOneUser: Bool {
        guard flags.contains(.shared), !flags.contains(.forAllUsers) else { return false }
        return flags.contains(.heuristic) || lifetime ?? 0 <= 0
    }

    /// Returns the milliseconds until the response is stale; 0 or less if it is stale. Without a lifetime it is always
    /// stale.
    package func remainingLifetime(at now: WallTime, maxAge: Int64?) -> Int64 {
        // The app's lifetime does not keep error responses fresh.
        if let maxAge, status < 400, lifetime == nil || flags.contains(.heuristic) {
            return maxAge - max(0, now.milliseconds(since: storedAt))
        }
        return (lifetime ?? 0) - age(at: now)
    }

    /// Whether a cache of this kind has stored the response. The other kind does not use it: it was stored by other
    /// rules, and may be for one user alone.
    func isOf(_ kind: CacheKind) -> Bool { flags.contains(.shared) == (kind == .shared) }

    /// Whether a 304 with these headers confirms this representation (RFC 9111 section 4.3.4).
    ///
    /// The entity tags have to match. If one of the two has no tag, the dates have to be equal. A 304 without
    /// validators confirms the representation that was validated.
    func isConfirmed(by confirmation: HTTPFields) -> Bool {
        let own = headers
        if let tag = confirmation.entityTags, let ownTag = own.entityTags { return EntityTag.match(tag, ownTag) }
        guard let date = confirmation[.lastModified], let ownDate = own[.lastModified] else {
            return !confirmation.contains(.eTag)
        }
        return date == ownDate
    }

    /// Whether a 304 with these headers names this variant among several (RFC 9111 section 4.3.4): by the same strong
    /// entity tag, or by a weak one that matches. Variants with different codings are never taken for each other.
    func isNamed(by confirmation: HTTPFields) -> Bool {
        let own = headers
        guard let tag = confirmation.single(.eTag), let ownTag = own.single(.eTag) else { return false }
        let isSame = tag.hasPrefix("W/") ? EntityTag.match(tag, ownTag) : ownTag.isExactly(tag)
        return isSame
            && (!confirmation.contains(.contentEncoding)
                || confirmation[values: .contentEncoding] == own[values: .contentEncoding])
    }

    // A clock that was set back must not keep an entry fresh until it has caught up.
    private func isFromTheFuture(_ now: WallTime) -> Bool { storedAt > now + 60_000 }

    /// Returns the response for the caller, with the `Age` that a cache must add (RFC 9111 section 5.1).
    package func response(from source: Response.Source, at now: WallTime, url: String, isHead: Bool = false) -> Response
    {
        var headers = headers
        headers[.age] = String(age(at: now) / 1000)
        return Response(
            status: HTTPResponse.Status(code: status),
            headers: headers,
            body: isHead ? Data() : body,
            source: source,
            url: url
        )
    }
}

/// The header block and the body of a response. A hit copies a stored response several times, and one object makes each
/// copy cheap.
private final class Content: Sendable, Equatable {
    let headerBlock: Data
    let body: Data
    /// The fields of the header block, once it was parsed. They do not affect equality.
    let fields: HTTPFields?

    init(headerBlock: Data, body: Data, fields: HTTPFields? = nil) {
        self.headerBlock = headerBlock
        self.body = body
        self.fields = fields
    }

    static func == (left: Content, right: Content) -> Bool {
        left === right || left.headerBlock == right.headerBlock && left.body == right.body
    }
}
