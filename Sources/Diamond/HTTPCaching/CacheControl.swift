import HTTPTypes

/// The directives of a `Cache-Control` field (RFC 9111 section 5.2) that the cache obeys.
///
/// Names are compared without case; arguments may be quoted; of a directive given twice the first counts, and an
/// unreadable age counts as none left (section 4.2.1: such a response is stale).
struct CacheControl: Equatable {
    /// Seconds.
    var maxAge: Int64?
    var noStore = false
    /// `no-cache` without fields, or with them: both forbid reuse without a word from the server.
    var noCache = false
    var mustRevalidate = false
    var onlyIfCached = false

    init(_ headers: HTTPFields) {
        for value in headers[values: .cacheControl] {
            for directive in Self.directives(of: value) { add(directive) }
        }
    }

    private mutating func add(_ directive: Substring) {
        let parts = directive.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        switch parts[0].lowercased().filter({ !$0.isWhitespace }) {
        case "max-age": maxAge = maxAge ?? Self.seconds(parts.count > 1 ? parts[1] : "")
        case "no-store": noStore = true
        case "no-cache": noCache = true
        case "must-revalidate": mustRevalidate = true
        case "only-if-cached": onlyIfCached = true
        default: break
        }
    }

    /// Splits at commas outside quotes; a backslash in quotes takes the next character along (RFC 9110 section 5.6.4).
    private static func directives(of value: String) -> [Substring] {
        var isQuoted = false
        var isEscaped = false
        return value.split { character in
            defer { isEscaped = isQuoted && character == "\\" && !isEscaped }
            if character == "\"", !isEscaped { isQuoted.toggle() }
            return character == "," && !isQuoted
        }
    }

    // Larger ages count as 2^31 seconds (RFC 9111 section 1.2.2).
    static func seconds(_ text: some StringProtocol) -> Int64 {
        let digits = String(text.filter { !$0.isWhitespace && $0 != "\"" })
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return 0 }
        return min(Int64(digits) ?? .max, 1 << 31)
    }
}
