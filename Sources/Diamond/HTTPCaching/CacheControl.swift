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
        for field in headers where field.name == .cacheControl {
            field.value.withBytes { add(list: $0) }
        }
    }

    /// Divides at commas outside quotes; a backslash in quotes takes the next character along (RFC 9110 section 5.6.4).
    private mutating func add(list: Span<UInt8>) {
        var (start, isQuoted, isEscaped) = (0, false, false)
        for index in list.indices {
            let byte = list[index]
            if byte == UInt8(ascii: "\""), !isEscaped { isQuoted.toggle() }
            isEscaped = isQuoted && byte == UInt8(ascii: "\\") && !isEscaped
            guard byte == UInt8(ascii: ","), !isQuoted else { continue }
            add(list.extracting(start..<index))
            start = index + 1
        }
        add(list.extracting(start...))
    }

    private mutating func add(_ directive: Span<UInt8>) {
        let end = directive.firstIndex(of: UInt8(ascii: "="), in: directive.indices) ?? directive.count
        let name = directive.withoutSpaces(0..<end)
        if directive.isEqual(name, to: "max-age") {
            maxAge = maxAge ?? (end < directive.count ? Self.seconds(directive.extracting((end + 1)...)) : 0)
        }
        if directive.isEqual(name, to: "no-store") { noStore = true }
        if directive.isEqual(name, to: "no-cache") { noCache = true }
        if directive.isEqual(name, to: "must-revalidate") { mustRevalidate = true }
        if directive.isEqual(name, to: "only-if-cached") { onlyIfCached = true }
    }

    static func seconds(_ text: some StringProtocol) -> Int64 { String(text).withBytes { seconds($0) } }

    // Larger ages count as 2^31 seconds (RFC 9111 section 1.2.2).
    private static func seconds(_ text: Span<UInt8>) -> Int64 {
        var (seconds, isEmpty) = (Int64(0), true)
        for index in text.indices {
            switch text[index] {
            case 0x30...0x39: (seconds, isEmpty) = (min(seconds * 10 + Int64(text[index] - 0x30), 1 << 31), false)
            case 0x20, 0x09, UInt8(ascii: "\""): break
            default: return 0
            }
        }
        return isEmpty ? 0 : seconds
    }
}

extension Span<UInt8> {
    fileprivate func withoutSpaces(_ range: Range<Int>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, self[start] == 0x20 || self[start] == 0x09 { start += 1 }
        while start < end, self[end - 1] == 0x20 || self[end - 1] == 0x09 { end -= 1 }
        return start..<end
    }
}
