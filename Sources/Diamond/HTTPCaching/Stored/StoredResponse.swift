package import Foundation
package import HTTPTypes

/// A response as the cache keeps it. Times in milliseconds, instants since 1970.
package struct StoredResponse: Sendable, Equatable {
    /// The statements of the headers about reuse, kept apart so that a hit need not read them.
    package struct Flags: OptionSet, Sendable {
        package let rawValue: Int64
        package init(rawValue: Int64) { self.rawValue = rawValue }

        package static let noCache = Flags(rawValue: 1)
        package static let hasValidator = Flags(rawValue: 2)
        package static let mustRevalidate = Flags(rawValue: 4)
        /// Marked stale by the app, against any lifetime.
        package static let invalidated = Flags(rawValue: 8)
        /// Not to be evicted.
        package static let pinned = Flags(rawValue: 16)
        /// The chunks of its body are compressed. Only rows have this flag; a lookup removes it.
        package static let compressed = Flags(rawValue: 32)
        /// Its body is a part. Only rows have this flag.
        package static let partial = Flags(rawValue: 64)
        /// The lifetime is heuristic: the server gives none.
        package static let heuristic = Flags(rawValue: 128)
        /// Stored by a shared cache, and of no use to a private one.
        package static let shared = Flags(rawValue: 256)
        /// No response: the index of the variants under its key.
        package static let variants = Flags(rawValue: 512)
    }

    package var status: Int
    /// `Name: value` lines, read only when a header is asked for.
    package var headerBlock: Data {
        get { content.headerBlock }
        set { content = Content(headerBlock: newValue, body: body) }
    }
    package var body: Data {
        get { content.body }
        set { content = Content(headerBlock: headerBlock, body: newValue, fields: content.fields) }
    }
    /// Bytes of the body that are not here: all, where it is read in pieces.
    var sizeElsewhere = 0
    /// The time when it arrived, or was last confirmed.
    package var storedAt: Int64
    package var initialAge: Int64
    package var lifetime: Int64?
    package var flags: Flags
    /// The duration of the exchange that brought it: the time that a hit saves.
    package var duration: Int64
    private var content: Content

    package init(
        status: Int,
        headerBlock: Data,
        body: Data,
        storedAt: Int64,
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

    /// Bytes of the body, wherever it is.
    var bodySize: Int { body.count + sizeElsewhere }

    var isWhole: Bool { sizeElsewhere == 0 }

    /// A copy with its body elsewhere.
    var withoutBody: StoredResponse {
        var head = self
        (head.body, head.sizeElsewhere) = (Data(), bodySize)
        return head
    }

    /// Returns a whole copy. Where the body of this one is elsewhere, the copy has the body of the response that it
    /// confirms.
    func whole(by confirmed: StoredResponse) -> StoredResponse {
        guard !isWhole else { return self }
        var whole = self
        (whole.body, whole.sizeElsewhere) = (confirmed.body, confirmed.sizeElsewhere)
        return whole
    }

    /// Whether it is the answer that another was read as: neither replaced nor confirmed nor marked stale since. Where it
    /// is not known of which URL it is, what has yet to be marked may be meant: then it was read as stale, and is not.
    func isUnchanged(since other: StoredResponse) -> Bool {
        storedAt == other.storedAt && bodySize == other.bodySize && headerBlock == other.headerBlock
            && flags.intersection(.invalidated).isSubset(of: other.flags)
    }

    package var headers: HTTPFields { content.fields ?? HeaderBlock.fields(of: headerBlock) }

    /// Reads the headers once for all copies that are made from now on: a hit in memory answers with them as they are.
    mutating func readHeaders() { know(headers) }

    /// - Parameter headers: those that ``headerBlock`` was made of.
    mutating func know(_ headers: HTTPFields) {
        content = Content(headerBlock: headerBlock, body: body, fields: headers)
    }

    /// The time when the origin made or confirmed it.
    var originTime: Int64 { storedAt - initialAge }

    /// Milliseconds since then (RFC 9111 section 4.2.3).
    package func age(at now: Int64) -> Int64 { initialAge + max(0, now - storedAt) }

    /// Whether it may be reused without asking.
    ///
    /// - Parameter maxAge: the app's lifetime where the server gives none; it replaces a heuristic one.
    func isFresh(at now: Int64, maxAge: Int64?) -> Bool {
        guard !needsValidation(at: now) else { return false }
        return remainingLifetime(at: now, maxAge: maxAge) > 0
    }

    /// Whether no lifetime counts: by the server's word, by the app's, or because the clock cannot be right.
    package func needsValidation(at now: Int64) -> Bool {
        !flags.isDisjoint(with: [.noCache, .invalidated]) || isFromTheFuture(now)
    }

    /// Milliseconds until it is stale; 0 or less for those since. Without a lifetime, it was stale when the origin made it.
    package func remainingLifetime(at now: Int64, maxAge: Int64?) -> Int64 {
        // The app means good answers: an error is not pinned by it.
        if let maxAge, status < 400, lifetime == nil || flags.contains(.heuristic) {
            return maxAge - max(0, now - storedAt)
        }
        return (lifetime ?? 0) - age(at: now)
    }

    /// Whether it was stored by a cache of this kind. An entry of one kind is none for the other: it was stored by other
    /// rules, and may be for one user alone.
    func isOf(_ kind: CacheKind) -> Bool { flags.contains(.shared) == (kind == .shared) }

    /// Whether a 304 with these headers speaks of this representation (RFC 9111 section 4.3.4).
    ///
    /// Both have one entity tag. Where one of them has none, both have one date. A 304 without validators speaks of what
    /// was asked for.
    func isConfirmed(by confirmation: HTTPFields) -> Bool {
        let own = headers
        if let tag = confirmation[.eTag], let ownTag = own[.eTag] { return EntityTag.match(tag, ownTag) }
        guard let date = confirmation[.lastModified], let ownDate = own[.lastModified] else {
            return !confirmation.contains(.eTag)
        }
        return date == ownDate
    }

    // A clock that was set back must not keep an entry fresh until it has caught up.
    private func isFromTheFuture(_ now: Int64) -> Bool { storedAt > now + 60_000 }

    /// The answer for the caller, with the `Age` that a cache has to tell (RFC 9111 section 5.1).
    package func response(from source: Response.Source, at now: Int64, url: String, isHead: Bool = false) -> Response {
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

/// The header block and the body, in one object: a hit copies a stored response several times, and each copy retains one
/// object instead of three.
private final class Content: Sendable, Equatable {
    let headerBlock: Data
    let body: Data
    /// The fields of the header block, once they were read. They do not count for equality.
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
