import HTTPTypes

/// The preconditions and the range of a request, which a stored response may answer (RFC 9111 section 4.3.2, RFC 9110
/// sections 13 and 14).
struct RequestConditions: Equatable {
    /// The form in which a stored response answers the request.
    enum Form: Equatable {
        /// The stored response as it is.
        case whole
        /// 304: the caller has the representation.
        case notModified
        /// 206 with these bytes.
        case partial(Range<Int>)
        /// 416: the representation has none of the bytes.
        case unsatisfiable
    }

    private let noneMatch: EntityTagList?
    private let modifiedSince: String?
    private let range: RangeRequest?
    private let ifRange: String?

    /// Reads the conditions of a request; `nil` if it has none that concern a cache, or if one has to be evaluated by
    /// the origin server: `If-Match` and `If-Unmodified-Since` (RFC 9111 section 4.3.2).
    init?(_ headers: HTTPFields, method: HTTPRequest.Method) {
        guard !Self.isForOrigin(headers) else { return nil }
        noneMatch = EntityTagList(headers)
        modifiedSince = headers.contains(.ifNoneMatch) ? nil : headers.single(.ifModifiedSince)
        range = method == .get ? RangeRequest(headers) : nil
        ifRange = headers.first { $0.name == .ifRange }?.byteText
        guard noneMatch != nil || modifiedSince != nil || range != nil else { return nil }
    }

    /// Whether the request asks for a range that has to be evaluated.
    var hasRange: Bool { range != nil }

    /// Whether only the origin server may evaluate the conditions of a request.
    static func isForOrigin(_ headers: HTTPFields) -> Bool {
        headers.contains(.ifMatch) || headers.contains(.ifUnmodifiedSince)
    }

    /// Returns the form in which a stored response answers the request, in the order of RFC 9110 section 13.2.2.
    ///
    /// Only a stored 200 is evaluated. Statuses that are no success must not be (section 13.2.1); other successes are
    /// served as a whole.
    ///
    /// - Parameters:
    ///   - status: the stored status.
    ///   - headers: the stored header fields.
    ///   - length: the bytes of the stored body.
    ///   - receivedAt: the time when the response arrived or was last confirmed.
    ///   - now: the current time, to read years of two digits.
    func form(
        ofStored status: Int,
        _ headers: HTTPFields,
        length: Int,
        receivedAt: WallTime? = nil,
        now: WallTime
    ) -> Form {
        guard status == 200 else { return .whole }
        if isUnmodified(headers, receivedAt: receivedAt, now: now) { return .notModified }
        guard let range, isSameRepresentation(headers, now: now) else { return .whole }
        switch range.selection(of: length) {
        case .whole: return .whole
        case .bytes(let bytes): return .partial(bytes)
        case .unsatisfiable: return .unsatisfiable
        }
    }

    /// Whether the caller has the stored representation: by `If-None-Match` and, only without that, by
    /// `If-Modified-Since`.
    private func isUnmodified(_ headers: HTTPFields, receivedAt: WallTime?, now: WallTime) -> Bool {
        if let noneMatch { return noneMatch.matches(headers.byteText(.eTag)) }
        guard let since = modifiedSince.flatMap({ HTTPDate.time(of: $0, now: now) }) else { return false }
        guard !headers.contains(.lastModified) else {
            let modified = headers.single(.lastModified).flatMap { HTTPDate.time(of: $0, now: now) }
            return modified.map { $0 <= since } ?? false
        }
        // A response without Last-Modified is as old as its Date, or else as its arrival (RFC 9111 section 4.3.2).
        let date = headers.single(.date).flatMap { HTTPDate.time(of: $0, now: now) } ?? receivedAt
        return date.map { $0 <= since } ?? false
    }

    /// Whether `If-Range`, if there is one, names the stored representation by a strong validator (RFC 9110 section
    /// 13.1.5).
    private func isSameRepresentation(_ headers: HTTPFields, now: WallTime) -> Bool {
        guard let ifRange else { return true }
        guard !ifRange.hasPrefix("\""), !ifRange.hasPrefix("W/") else {
            return !ifRange.hasPrefix("W/") && headers.byteText(.eTag).isExactly(ifRange)
        }
        guard case .lastModified(let date) = StrongValidator(headers.withoutEntityTag, now: now) else { return false }
        return date.isExactly(ifRange)
    }
}

extension HTTPFields {
    fileprivate var withoutEntityTag: HTTPFields {
        var headers = self
        headers[.eTag] = nil
        return headers
    }

    /// Returns the fields of a 304 for a stored response (RFC 9110 section 15.4.5): those that guide the update of the
    /// caller's copy. `Last-Modified` is sent if no entity tag identifies the representation.
    var ofNotModified: HTTPFields {
        var kept: [HTTPField.Name] = [.contentLocation, .date, .eTag, .vary, .cacheControl, .expires, .age]
        if !contains(.eTag) { kept.append(.lastModified) }
        return HTTPFields(filter { kept.contains($0.name) })
    }
}

/// The entity tags of an `If-None-Match` field (RFC 9110 section 13.1.2).
struct EntityTagList: Equatable {
    /// `nil` for `*`, which matches every representation.
    private let tags: [String]?

    /// Reads all `If-None-Match` fields; `nil` if there is none.
    init?(_ headers: HTTPFields) {
        guard headers.contains(.ifNoneMatch) else { return nil }
        let values = headers.filter { $0.name == .ifNoneMatch }.map(\.byteText)
        tags = values.contains { $0.isExactly("*") } ? nil : values.flatMap(Self.tags)
    }

    /// Whether the field is `*`.
    var isAny: Bool { tags == nil }

    /// Whether there are tags, and each matches a response's tag by weak comparison.
    func matchesOnly(_ tag: String) -> Bool {
        tags?.isEmpty == false && tags?.allSatisfy { EntityTag.match($0, tag) } == true
    }

    /// Whether one of them matches a response's tag by weak comparison, or the field is `*`.
    ///
    /// - Parameter tag: the tag as ``HTTPField/byteText``.
    func matches(_ tag: String?) -> Bool {
        guard let tags else { return true }
        guard let tag else { return false }
        return tags.contains { EntityTag.match($0, tag) }
    }

    /// Divides a list at the commas outside quotes: a tag may contain commas (RFC 9110 section 8.8.3). A tag without
    /// quotes, which some clients send, ends at a comma.
    private static func tags(of list: String) -> [String] {
        var tags: [String] = []
        var tag: [UInt8] = []
        var isQuoted = false
        for byte in list.utf8 {
            if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
            guard byte == UInt8(ascii: ","), !isQuoted else {
                tag.append(byte)
                continue
            }
            tags.append(String(decoding: tag, as: UTF8.self))
            tag = []
        }
        tags.append(String(decoding: tag, as: UTF8.self))
        return tags.map { $0.trimmingBlanks }.filter { !$0.isEmpty }
    }
}

extension String {
    fileprivate var trimmingBlanks: String {
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        let start = utf8.drop(while: isBlank)
        guard let end = start.lastIndex(where: { !isBlank($0) }) else { return "" }
        return String(Substring(start[...end]))
    }
}
