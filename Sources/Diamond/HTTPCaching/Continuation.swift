import HTTPTypes

/// How a response is gone on with whose transfer has broken: by which validator the rest is asked for, and how much there
/// is in all (RFC 9110 section 14.2, RFC 9111 section 3.3).
struct Continuation: Hashable, Sendable {
    private enum Validator: Hashable {
        /// A strong entity tag.
        case tag(String)
        /// A date that is a strong validator, of a response without entity tag.
        case date(String)
    }

    private let validator: Validator
    /// Bytes of the whole representation.
    let length: Int

    /// Milliseconds by which `Date` is later than a `Last-Modified` that is strong. A second would do where both come from
    /// one clock, which nobody can know: with a minute no two clocks are mistaken (RFC 9110 section 8.8.2.2).
    private static let strongAge: Int64 = 60_000

    /// `nil` where the response cannot be gone on with: it is not whole, says that the server takes no ranges, has no
    /// length or no strong validator, or is coded. A transport that has removed a coding has removed the length with it,
    /// because ranges count coded bytes.
    ///
    /// - Parameter now: milliseconds since 1970; only for years of two digits.
    init?(status: Int, headers: HTTPFields, now: Int64) {
        guard status == 200, !headers.isCoded, !headers[values: .acceptRanges].flatMap(\.listElements).contains("none"),
            let length = headers.single(.contentLength).flatMap({ Int(digits: $0) }),
            let validator = Self.validator(headers, now)
        else { return nil }
        (self.length, self.validator) = (length, validator)
    }

    // A weak entity tag is no reason to take the date: there is one for the representation (RFC 9110 section 13.1.5).
    private static func validator(_ headers: HTTPFields, _ now: Int64) -> Validator? {
        if headers.contains(.eTag) { return headers.validator(.eTag).flatMap { isStrong($0) ? .tag($0) : nil } }
        guard let text = headers.validator(.lastModified), let modified = HTTPDate.milliseconds(of: text, now: now),
            let date = headers.single(.date).flatMap({ HTTPDate.milliseconds(of: $0, now: now) }),
            date - modified >= strongAge
        else { return nil }
        return .date(text)
    }

    // One, whole, and no list.
    private static func isStrong(_ tag: String) -> Bool {
        let bytes = tag.utf8
        let quote = UInt8(ascii: "\"")
        return bytes.count >= 2 && bytes.first == quote && bytes.last == quote
            && !bytes.dropFirst().dropLast().contains(quote)
    }

    // MARK: Asking for the rest

    /// Turns a request into one for the rest.
    ///
    /// Conditions that asked whether a stored response is still right go: what was received says that it is not.
    ///
    /// - Parameter received: bytes that are here.
    func ask(_ headers: inout HTTPFields, from received: Int) {
        headers[.ifNoneMatch] = nil
        headers[.ifModifiedSince] = nil
        headers[.range] = "bytes=\(received)-"
        headers[.ifRange] = validatorText
        if headers[.acceptEncoding] == nil { headers[.acceptEncoding] = "identity" }
    }

    private var validatorText: String {
        switch validator {
        case .tag(let text), .date(let text): text
        }
    }

    // MARK: Holding an answer against it

    /// Whether a part belongs to the same representation: parts are combined only where they share a strong validator
    /// (RFC 9110 section 15.3.7.3). Where that is a date, a server need not repeat it to whoever has named it.
    func isShared(by part: HTTPFields) -> Bool {
        switch validator {
        case .tag(let tag): part.single(.eTag).isExactly(tag)
        case .date: !part.contains(.eTag) && (!part.contains(.lastModified) || isNamed(by: part))
        }
    }

    /// Whether an answer names the same validator.
    func isNamed(by answer: HTTPFields) -> Bool {
        switch validator {
        case .tag(let tag): answer.single(.eTag).isExactly(tag)
        case .date(let date): !answer.contains(.eTag) && answer.single(.lastModified).isExactly(date)
        }
    }
}

extension HTTPFields {
    /// Whether the body is coded (RFC 9110 section 8.4).
    var isCoded: Bool { contains { $0.name == .contentEncoding && $0.value.lowercased() != "identity" } }
}
