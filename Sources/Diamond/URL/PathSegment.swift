public import Foundation

extension DefaultStringInterpolation {
    /// Adds a value as one segment of a URL's path, percent-encoded (RFC 3986 section 3.3).
    ///
    /// ```swift
    /// Request("cities/\(segment: name)/photos/\(segment: number)")  // cities/S%C3%A3o%20Tom%C3%A9/photos/7
    /// ```
    ///
    /// Every character with a meaning in a URL is encoded, such as `/`, `?` and `%`. These values change the path on
    /// some servers, however they are encoded: the empty text, `.`, `..`, and every value with `..` before, after or
    /// between slashes or backslashes. A request with such a value is refused as a malformed URL when it is sent.
    public mutating func appendInterpolation(segment value: some LosslessStringConvertible) {
        appendLiteral(PathSegment.written(String(value)))
    }

    /// Adds a UUID as one segment of a URL's path.
    public mutating func appendInterpolation(segment value: UUID) { appendLiteral(value.uuidString) }
}

extension String {
    /// The text as a segment of a URL's path: every byte that is reserved is encoded (RFC 3986 section 2.3).
    package var urlSegment: String { String(decoding: PercentEncoding.encode(utf8), as: UTF8.self) }
}

/// The segments of paths that are made from values.
enum PathSegment {
    /// Returns the segment for a value; ``refused`` for a value that cannot be one.
    static func written(_ value: String) -> String {
        let parts = value.utf8.split(omittingEmptySubsequences: false) {
            $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\")
        }
        let isRefused = value.isEmpty || value == "." || parts.contains { $0.elementsEqual("..".utf8) }
        guard !isRefused else { return "\(refused)" }
        return value.urlSegment
    }

    /// The text for a refused value. No valid URL contains it, because two hexadecimal digits follow every `%` (RFC
    /// 3986 section 2.1). It does not contain the value, which may be secret.
    static let refused: StaticString = "%(segment)"
}
