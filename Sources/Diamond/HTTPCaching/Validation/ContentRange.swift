import HTTPTypes

/// The range of bytes that a response has, and the length of the whole representation (RFC 9110 section 14.4).
enum ContentRange: Hashable {
    /// The bytes of a 206.
    ///
    /// - Parameter length: the length of the whole representation; `nil` if the server does not know it.
    case bytes(ClosedRange<Int>, length: Int?)
    /// No bytes: none of the requested ones exist (416).
    case unsatisfied(length: Int)

    /// Reads the `Content-Range` field; `nil` if there is none, or if it is invalid: another unit, an end before its
    /// start, or two fields that differ.
    init?(_ headers: HTTPFields) {
        guard let words = headers.single(.contentRange)?.split(separator: " "), words.count == 2,
            words[0].lowercased() == "bytes"
        else { return nil }
        let parts = words[1].split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        self.init(range: parts[0], length: parts[1])
    }

    private init?(range: Substring, length text: Substring) {
        let length = Int(digits: text)
        guard length != nil || text == "*" else { return nil }
        if range == "*" {
            guard let length else { return nil }
            self = .unsatisfied(length: length)
            return
        }
        let ends = range.split(separator: "-", omittingEmptySubsequences: false).map { Int(digits: $0) }
        guard ends.count == 2, let first = ends[0], let last = ends[1], first <= last, last < length ?? .max else {
            return nil
        }
        self = .bytes(first...last, length: length)
    }
}
