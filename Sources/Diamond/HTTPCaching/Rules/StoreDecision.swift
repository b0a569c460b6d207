import Foundation
import HTTPTypes

/// The rules of one cache for storing one response: who may receive it, and which fields are not stored.
struct StoreRules {
    var kind = CacheKind.private
    /// The targeted fields that count before `Cache-Control` (RFC 9213).
    var targets: [HTTPField.Name] = []
    /// Whether the request has `Authorization`.
    var isAuthorized = false
    /// Whether the request has a credential in a field, such as `Cookie`.
    var hasCredentials = false
    /// Whether the client accepts the content coding of the response.
    var acceptsCoding = true
    /// The secrets that must not be written to a file, whatever the rules of HTTP say; `nil` to store every field.
    var secrets: FieldSecrets? = FieldSecrets()
    /// Whether bodies pass as they came. Then coded bodies are stored with their coding, and `Accept-Encoding` selects.
    var passesCoding = false
    /// Whether `Set-Cookie` is stored (RFC 9111 section 7.3).
    var keepsCookies = false
    /// Returns the part that a header of the request, in lower case, has in the selection of the response.
    var selection: (String) -> VariantFields.Selection = { KeyRules.isSelecting($0) ? .key : .value }
}

/// The decision whether and in which form a response is stored (RFC 9111 section 3). A value, computed without I/O.
struct StoreDecision {
    /// The response to store, or `nil`.
    let stored: StoredResponse?
    /// The reason why the response is not stored; `nil` if it is.
    let refusal: StoreRefusal?
    /// The fields that select the response among several under one key; `nil` if the key identifies it.
    let fields: VariantFields?
    /// ``StoredResponse/originTime``, also of a response that is not stored.
    let originTime: WallTime
    /// The time at which the request was sent.
    let sentAt: WallTime

    /// The statuses that are heuristically cacheable (RFC 9110 section 15.1), except 206.
    static let heuristicallyCacheable: Set<Int> = [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501]

    /// The statuses of responses that supersede the stored one, also if they may not be stored: a new representation,
    /// or the news that there is none at the URL any more.
    static let superseding: Set<Int> = [200, 203, 204, 301, 308, 404, 410]

    /// The statuses that a cache must not store, whatever their lifetime (RFC 6585 sections 3 to 6).
    private static let neverStored: Set<Int> = [428, 429, 431, 511]

    init(
        method: HTTPRequest.Method,
        status: Int,
        headers: HTTPFields,
        body: Data,
        sentAt: WallTime,
        receivedAt: WallTime,
        rules: StoreRules = StoreRules()
    ) {
        let control = CacheControl(headers, targets: rules.targets)
        let vary = rules.vary(headers)
        fields = vary.fields
        let freshness = Freshness(
            headers: headers, control, status: status, kind: rules.kind, sentAt: sentAt, receivedAt: receivedAt)
        originTime = receivedAt - freshness.initialAge
        self.sentAt = sentAt
        let refusal: StoreRefusal? =
            if let refusal = Self.refusal(method: method, status: status, freshness: freshness) {
                refusal
            } else if !rules.passesCoding, headers.isCoded {
                // Bodies are decoded. A coded one is only for requests that accept the coding, which is not part of the
                // key.
                .coding
            } else if let refusal = rules.refusal(by: control, status: status) {
                refusal
            } else if vary == .unknown {
                .vary
            } else {
                rules.sharingRefusal(headers, control: control, freshness: freshness)
            }
        guard refusal == nil,
            let kept = HeaderBlock.kept(
                headers, rules.secrets, without: rules.excluded(control), keepingCookies: rules.keepsCookies)
        else {
            stored = nil
            self.refusal = refusal ?? .secret
            return
        }
        self.refusal = nil
        var new = StoredResponse(
            status: status,
            headerBlock: HeaderBlock.bytes(of: kept),
            body: body,
            storedAt: receivedAt,
            initialAge: freshness.initialAge,
            lifetime: freshness.lifetime,
            flags: rules.flags(kept, control: control, freshness: freshness),
            duration: max(0, receivedAt.milliseconds(since: sentAt))
        )
        new.know(kept)
        stored = new
    }

    /// Returns the reason why the method or the status forbids to store a response; `nil` if they allow it.
    private static func refusal(method: HTTPRequest.Method, status: Int, freshness: Freshness) -> StoreRefusal? {
        guard method == .get || method == .query else { return .method }
        let isAllowed = heuristicallyCacheable.contains(status) || (freshness.lifetime != nil && isFinal(status))
        return isAllowed ? nil : .status
    }

    /// Decides what to store after the server confirmed a response, with a 304 or a response to HEAD.
    init(
        confirming old: StoredResponse,
        by headers: HTTPFields,
        sentAt: WallTime,
        receivedAt: WallTime,
        rules: StoreRules = StoreRules()
    ) {
        let merged = HeaderBlock.updated(
            old.headers, by: HeaderBlock.endToEnd(headers, keepingCookies: rules.keepsCookies),
            passingCoding: rules.passesCoding)
        let control = CacheControl(merged, targets: rules.targets)
        // If the 304 has no Age or Date, the old ones must not count as the age of this confirmation, and an old
        // Expires must not be compared with the old Date.
        var dated = merged
        dated[.age] = headers.first(of: .age)
        dated[.date] = headers.single(.date)
        let freshness = Freshness(
            headers: dated, control, status: old.status, kind: rules.kind, sentAt: sentAt, receivedAt: receivedAt)
        originTime = receivedAt - freshness.initialAge
        self.sentAt = sentAt
        let vary = rules.vary(merged)
        fields = vary.fields
        let refusal =
            rules.refusal(by: control, status: old.status) ?? (vary == .unknown ? .vary : nil)
            ?? rules.sharingRefusal(merged, control: control, freshness: freshness)
        guard refusal == nil,
            let kept = HeaderBlock.kept(
                merged, rules.secrets, without: rules.excluded(control), keepingCookies: rules.keepsCookies)
        else {
            stored = nil
            self.refusal = refusal ?? .secret
            return
        }
        self.refusal = nil
        var new = old
        new.headerBlock = HeaderBlock.bytes(of: kept)
        new.storedAt = receivedAt
        new.initialAge = freshness.initialAge
        new.lifetime = freshness.lifetime
        // Without the pin of the old response, which may have been removed since. The row in the file keeps its pin.
        new.flags = rules.flags(kept, control: control, freshness: freshness).union(
            old.flags.intersection(.fixedCoding))
        new.know(kept)
        stored = new
    }

    /// Returns the fields that select a stored response among several under one key.
    static func fields(of stored: StoredResponse, rules: StoreRules) -> VariantFields? {
        rules.vary(stored.headers).fields
    }

    // A 206 is a part of a response, and a 304 updates a stored one. 412 and 416 answer conditions or a range, which
    // are not part of the key.
    private static func isFinal(_ status: Int) -> Bool {
        status >= 200 && ![206, 304, 412, 416].contains(status) && !neverStored.contains(status)
    }
}

extension StoreRules {
    /// Returns the reason why the directives of a response forbid this cache to store it (RFC 9111 section 3); `nil` if
    /// they allow it.
    fileprivate func refusal(by control: CacheControl, status: Int) -> StoreRefusal? {
        guard !control.mustUnderstand || Self.isUnderstood(status) else { return .mustUnderstand }
        // Section 5.2.2.3: no-store is for caches that do not know must-understand.
        guard !control.noStore || control.mustUnderstand else { return .noStore }
        guard kind == .shared else { return nil }
        guard !control.isPrivate else { return .isPrivate }
        return isAuthorized && !control.allowsSharing ? .authorization : nil
    }

    /// Returns the reason why the users of a shared cache may not share a response; `nil` if they may. The rule is
    /// stricter than RFC 9111: a response to a request with credentials, or one that sets a cookie, may be for one
    /// user.
    ///
    /// | response | may be shared |
    /// |---|---|
    /// | has a lifetime from the server | yes |
    /// | sets a cookie | no |
    /// | to a request without credentials, or with `public` | yes |
    /// | to any other request | only if each use is validated |
    fileprivate func sharingRefusal(
        _ headers: HTTPFields,
        control: CacheControl,
        freshness: Freshness
    ) -> StoreRefusal? {
        guard kind == .shared, !freshness.isExplicit else { return nil }
        guard !headers.contains(.setCookie) else { return .setCookie }
        let isValidated = control.noCache || !freshness.isHeuristic && control.mustRevalidate(in: kind)
        return hasCredentials && !control.isPublic && !isValidated ? .credentials : nil
    }

    // The statuses of RFC 9110 section 15, without the two that this cache does not store.
    private static func isUnderstood(_ status: Int) -> Bool {
        switch status {
        case 206, 304: false
        case 200...205, 300...303, 305, 307, 308, 400...417, 421, 422, 426, 500...505: true
        default: false
        }
    }

    /// Returns the fields that are not stored: those that may not be reused without validation (section 5.2.2.4), and
    /// in a shared cache those that are for one user (section 5.2.2.7).
    fileprivate func excluded(_ control: CacheControl) -> [String] {
        kind == .shared ? control.noCacheFields + control.privateFields : control.noCacheFields
    }

    /// - Parameter kept: the fields that are stored.
    fileprivate func flags(
        _ kept: HTTPFields,
        control: CacheControl,
        freshness: Freshness
    ) -> StoredResponse.Flags {
        var flags: StoredResponse.Flags = kind == .shared ? .shared : []
        if kind == .shared, !hasCredentials || control.isPublic || freshness.isExplicit { flags.insert(.forAllUsers) }
        if passesCoding, !acceptsCoding, kept.isCoded { flags.insert(.fixedCoding) }
        if control.noCache { flags.insert(.noCache) }
        if control.mustRevalidate(in: kind) { flags.insert(.mustRevalidate) }
        if freshness.isHeuristic { flags.insert(.heuristic) }
        if kept.validator(.eTag) != nil || kept.validator(.lastModified) != nil { flags.insert(.hasValidator) }
        return flags
    }

    /// Returns the meaning of `Vary` (RFC 9111 section 4.1). `Accept-Encoding` does not select if bodies are stored
    /// decoded.
    fileprivate func vary(_ headers: HTTPFields) -> VariantFields.Vary {
        guard headers.contains(.vary) else { return .key }
        return VariantFields.vary(headers) { $0 == "accept-encoding" && !passesCoding ? .key : selection($0) }
    }
}

extension CacheControl {
    /// Whether a shared cache may store the response to a request with `Authorization` (RFC 9111 section 3.5).
    fileprivate var allowsSharing: Bool { mustRevalidate || isPublic || sharedMaxAge != nil }

    /// Whether a cache has to validate the response once it is stale. `s-maxage` implies it in a shared cache (section
    /// 5.2.2.10).
    fileprivate func mustRevalidate(in kind: CacheKind) -> Bool {
        mustRevalidate || kind == .shared && (proxyRevalidate || sharedMaxAge != nil)
    }
}

extension VariantFields.Vary {
    fileprivate var fields: VariantFields? {
        if case .fields(let fields) = self { fields } else { nil }
    }
}
