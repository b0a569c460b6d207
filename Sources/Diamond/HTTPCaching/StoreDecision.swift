import Foundation
import HTTPTypes

/// Whether a response goes into the cache, and as what (RFC 9111 section 3). A value, computed without I/O.
struct StoreDecision {
    /// The response to store, or `nil`.
    let stored: StoredResponse?
    /// ``StoredResponse/originTime``, also of a response that is not stored.
    let originTime: Int64

    /// Statuses that may be kept without a word from the server (RFC 9110 section 15.1), less 206.
    static let cacheable: Set<Int> = [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501]

    /// The statuses that a cache must not keep, whatever lifetime the server gives (RFC 6585 sections 3 to 6).
    private static let unkept: Set<Int> = [428, 429, 431, 511]

    /// - Parameters:
    ///   - secrets: what is not to stand in a file, whatever the rules of HTTP say.
    ///   - isSelecting: whether a header, in lower case, is a part of the key as it was sent.
    init(
        method: HTTPRequest.Method,
        status: Int,
        headers: HTTPFields,
        body: Data,
        sentAt: Int64,
        receivedAt: Int64,
        secrets: FieldSecrets = FieldSecrets(),
        isSelecting: (String) -> Bool = { KeyRules.isSelecting($0) }
    ) {
        let control = CacheControl(headers)
        let freshness = Freshness(headers: headers, control, sentAt: sentAt, receivedAt: receivedAt)
        originTime = receivedAt - freshness.initialAge
        let isKept = Self.cacheable.contains(status) || (freshness.lifetime != nil && Self.isFinal(status))
        // A body that is coded still is for the one who has asked for it so: the coding is no part of the key.
        guard method == .get || method == .query, isKept, !control.noStore, !headers.isCoded,
            Self.canSelect(headers, isSelecting), let kept = HeaderBlock.kept(headers, secrets)
        else {
            stored = nil
            return
        }
        var new = StoredResponse(
            status: status,
            headerBlock: HeaderBlock.bytes(of: kept),
            body: body,
            storedAt: receivedAt,
            initialAge: freshness.initialAge,
            lifetime: freshness.lifetime,
            flags: Self.flags(headers, control),
            duration: max(0, receivedAt - sentAt)
        )
        new.know(kept)
        stored = new
    }

    /// Decides what to store after the server confirmed a response, with a 304 or in answer to HEAD.
    ///
    /// - Parameters:
    ///   - secrets: as above.
    ///   - isSelecting: whether a header, in lower case, is a part of the key as it was sent.
    init(
        confirming old: StoredResponse,
        by headers: HTTPFields,
        sentAt: Int64,
        receivedAt: Int64,
        secrets: FieldSecrets = FieldSecrets(),
        isSelecting: (String) -> Bool = { KeyRules.isSelecting($0) }
    ) {
        let merged = HeaderBlock.updated(old.headers, by: headers)
        let control = CacheControl(merged)
        // Of a 304 that sends no Age or Date, the old ones must not be counted as the age of this confirmation, nor may
        // an old Expires be counted from the old Date.
        var dated = merged
        dated[.age] = headers.first(of: .age)
        dated[.date] = headers.single(.date)
        let freshness = Freshness(headers: dated, control, sentAt: sentAt, receivedAt: receivedAt)
        originTime = receivedAt - freshness.initialAge
        guard !control.noStore, Self.canSelect(merged, isSelecting), let kept = HeaderBlock.kept(merged, secrets) else {
            stored = nil
            return
        }
        var new = old
        new.headerBlock = HeaderBlock.bytes(of: kept)
        new.storedAt = receivedAt
        new.initialAge = freshness.initialAge
        new.lifetime = freshness.lifetime
        // Without the pin that was read with it: it may be gone by now, and the row keeps the one that it has.
        new.flags = Self.flags(merged, control)
        new.know(kept)
        stored = new
    }

    private static func flags(_ headers: HTTPFields, _ control: CacheControl) -> StoredResponse.Flags {
        var flags: StoredResponse.Flags = []
        if control.noCache { flags.insert(.noCache) }
        if control.mustRevalidate { flags.insert(.mustRevalidate) }
        if headers.validator(.eTag) != nil || headers.validator(.lastModified) != nil { flags.insert(.hasValidator) }
        return flags
    }

    // 206 needs a store of parts, 304 belongs to a stored response.
    private static func isFinal(_ status: Int) -> Bool {
        status >= 200 && status != 206 && status != 304 && !unkept.contains(status)
    }

    // Every selecting header is in the key as it was sent, so that Vary is obeyed by it. What is not in the key cannot be
    // selected by (RFC 9111 section 4.1); Accept-Encoding can, because bodies are stored decoded.
    private static func canSelect(_ headers: HTTPFields, _ isSelecting: (String) -> Bool) -> Bool {
        headers[values: .vary].flatMap(\.listElements).allSatisfy { name in
            name.isEmpty || name == "accept-encoding" || (name != "*" && isSelecting(name))
        }
    }
}
