import HTTPTypes

/// A validator that changes whenever a byte of the representation changes. Two parts that share it may be combined (RFC
/// 9110 sections 8.8.1 and 15.3.7.3).
enum StrongValidator: Hashable, Sendable {
    case entityTag(String)
    /// The `Last-Modified` of a response without an entity tag.
    case lastModified(String)

    /// The milliseconds by which `Date` must be later than a `Last-Modified`, so that it is strong. One second suffices
    /// if one clock writes both fields, but a client cannot know that. One minute covers two clocks (RFC 9110 section
    /// 8.8.2.2).
    private static let strongAge: Int64 = 60_000

    /// Reads the validator of a response; `nil` if it has no strong one.
    ///
    /// A response with a weak entity tag has none, even if its date is strong (RFC 9110 section 13.1.5).
    ///
    /// - Parameter now: the current time; only for years of two digits.
    init?(_ headers: HTTPFields, now: WallTime) {
        guard !headers.contains(.eTag) else {
            guard let tag = headers.validator(.eTag), Self.isStrong(tag: tag) else { return nil }
            self = .entityTag(tag)
            return
        }
        guard let text = headers.validator(.lastModified), let modified = HTTPDate.time(of: text, now: now),
            let date = headers.single(.date).flatMap({ HTTPDate.time(of: $0, now: now) }),
            date.milliseconds(since: modified) >= Self.strongAge
        else { return nil }
        self = .lastModified(text)
    }

    // A single quoted tag is strong; a weak one and a list are not.
    private static func isStrong(tag: String) -> Bool {
        let bytes = tag.utf8
        let quote = UInt8(ascii: "\"")
        return bytes.count >= 2 && bytes.first == quote && bytes.last == quote
            && !bytes.dropFirst().dropLast().contains(quote)
    }

    /// The value of an `If-Range` field (RFC 9110 section 13.1.5), as ``HTTPField/byteText``.
    var text: String {
        switch self {
        case .entityTag(let text), .lastModified(let text): text
        }
    }

    /// Whether a part belongs to the same representation (RFC 9110 section 15.3.7.3).
    ///
    /// If `If-Range` had a date, the server need not repeat it in the part.
    func isShared(byPart headers: HTTPFields) -> Bool {
        switch self {
        case .entityTag: isRepeated(by: headers)
        case .lastModified:
            !headers.contains(.eTag) && (!headers.contains(.lastModified) || isRepeated(by: headers))
        }
    }

    /// Whether a response has the same validator.
    func isRepeated(by headers: HTTPFields) -> Bool {
        switch self {
        case .entityTag(let tag): headers.byteText(.eTag).isExactly(tag)
        case .lastModified(let date): !headers.contains(.eTag) && headers.single(.lastModified).isExactly(date)
        }
    }
}
