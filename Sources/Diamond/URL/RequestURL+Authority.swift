import Foundation

extension RequestURL.Parser {
    /// Host and port of an authority without its user info (RFC 3986 section 3.2).
    ///
    /// - Parameter standard: the scheme's own port, which is not written.
    mutating func readHostAndPort(
        _ text: Span<UInt8>,
        _ part: Range<Int>,
        port standard: Int
    ) throws(MalformedURL) {
        let isLiteral = !part.isEmpty && text[part.lowerBound] == UInt8(ascii: "[")
        let literalEnd =
            isLiteral ? text.firstIndex(of: UInt8(ascii: "]"), in: part) ?? part.upperBound : part.lowerBound
        let colon = text.firstIndex(of: UInt8(ascii: ":"), in: literalEnd..<part.upperBound) ?? part.upperBound
        let port = try port(text, min(colon + 1, part.upperBound)..<part.upperBound)
        try readHost(text, part.lowerBound..<colon)
        if let port, port != standard {
            url.bytes.append(UInt8(ascii: ":"))
            url.bytes.append(contentsOf: String(port).utf8)
        }
    }

    private func port(_ text: Span<UInt8>, _ digits: Range<Int>) throws(MalformedURL) -> Int? {
        guard !digits.isEmpty else { return nil }
        let isNumber = text.allSatisfy(in: digits) { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard isNumber, let port = Int(String(decoding: text.array(digits), as: UTF8.self)), (1...65535).contains(port)
        else {
            throw Self.failure(text, "its port is not a number from 1 to 65535")
        }
        return port
    }

    private mutating func readHost(_ text: Span<UInt8>, _ part: Range<Int>) throws(MalformedURL) {
        guard !part.isEmpty else { throw Self.failure(text, "it has no host") }
        guard text[part.lowerBound] != UInt8(ascii: "[") else { return try readAddress(text, part) }
        guard !text.allSatisfy(in: part, Self.isInName) else { return url.bytes.append(text, part) }
        let isASCII = text.allSatisfy(in: part) { $0 < 0x80 }
        let name = isASCII ? text.array(part) : try international(text, part)
        let lower = name.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
        guard lower.allSatisfy(Self.isInName) else {
            throw Self.failure(text, "its host has a character that no name has")
        }
        url.bytes += lower
    }

    /// Whether a name in lower case has it.
    private static func isInName(_ byte: UInt8) -> Bool { ByteClass.lowerName.contains(byte) }

    /// An international name in its ASCII form, as far as Foundation knows it (UTS 46, not transitional: RFC 5891).
    private func international(_ text: Span<UInt8>, _ part: Range<Int>) throws(MalformedURL) -> [UInt8] {
        let prefix = "http://"
        let isPlain = text.allSatisfy(in: part) { $0 >= 0x80 || !PercentEncoding.isReserved($0) }
        let name = String(validating: text.array(part), as: UTF8.self)
        let ascii = isPlain ? name.flatMap { URL(string: prefix + $0 + "/") }?.absoluteString : nil
        guard let ascii, ascii.hasPrefix(prefix), ascii.hasSuffix("/"), !ascii.contains("%") else {
            throw Self.failure(text, "its host is no international name: write it in its xn-- form")
        }
        return Array(ascii.utf8.dropFirst(prefix.utf8.count).dropLast())
    }

    /// An address in brackets, in the one form of RFC 5952.
    private mutating func readAddress(_ text: Span<UInt8>, _ literal: Range<Int>) throws(MalformedURL) {
        let isClosed = text[literal.upperBound - 1] == UInt8(ascii: "]")
        let content = String(decoding: text.array(literal).dropFirst().dropLast(), as: UTF8.self)
        guard isClosed, let address = IPv6Address(content) else {
            throw Self.failure(text, "what stands in brackets is not an IPv6 address without a zone")
        }
        url.bytes.append(contentsOf: "[\(address)]".utf8)
    }
}
