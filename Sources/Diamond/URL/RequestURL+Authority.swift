import Foundation

extension RequestURL.Parser {
    /// Reads the host and port of an authority (RFC 3986 section 3.2).
    ///
    /// - Parameters:
    ///   - text: the text of the URL.
    ///   - part: the range of the authority after the user info.
    ///   - standard: the scheme's default port, which is not written.
    mutating func readHostAndPort(
        _ text: Span<UInt8>,
        in part: Range<Int>,
        port standard: Int
    ) throws(MalformedURL) {
        let isLiteral = !part.isEmpty && text[part.lowerBound] == UInt8(ascii: "[")
        let literalEnd =
            isLiteral ? text.firstIndex(of: UInt8(ascii: "]"), in: part) ?? part.upperBound : part.lowerBound
        let colon = text.firstIndex(of: UInt8(ascii: ":"), in: literalEnd..<part.upperBound) ?? part.upperBound
        let port = try port(text, in: min(colon + 1, part.upperBound)..<part.upperBound)
        try readHost(text, in: part.lowerBound..<colon)
        if let port, port != standard {
            url.bytes.append(UInt8(ascii: ":"))
            url.bytes.append(contentsOf: String(port).utf8)
        }
    }

    private func port(_ text: Span<UInt8>, in digits: Range<Int>) throws(MalformedURL) -> Int? {
        guard !digits.isEmpty else { return nil }
        let isNumber = text.allSatisfy(in: digits) { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard isNumber, let port = Int(String(decoding: text.array(digits), as: UTF8.self)), (1...65535).contains(port)
        else {
            throw Self.failure(in: text, "its port is not a number from 1 to 65535")
        }
        return port
    }

    private mutating func readHost(_ text: Span<UInt8>, in part: Range<Int>) throws(MalformedURL) {
        guard !part.isEmpty else { throw Self.failure(in: text, "it has no host") }
        guard text[part.lowerBound] != UInt8(ascii: "[") else { return try readAddress(text, in: part) }
        guard !text.allSatisfy(in: part, Self.isInName) else { return url.bytes.append(text, in: part) }
        let isASCII = text.allSatisfy(in: part) { $0 < 0x80 }
        let name = isASCII ? text.array(part) : try asciiName(text, in: part)
        let lower = name.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
        guard lower.allSatisfy(Self.isInName) else {
            throw Self.failure(in: text, "its host has a character that is not allowed in a name")
        }
        url.bytes += lower
    }

    /// Whether a byte may be part of a host name in lower case.
    private static func isInName(_ byte: UInt8) -> Bool { ByteClass.lowerName.contains(byte) }

    /// Returns the ASCII form of an internationalized name, by Foundation's rules (UTS 46, nontransitional; RFC 5891).
    private func asciiName(_ text: Span<UInt8>, in part: Range<Int>) throws(MalformedURL) -> [UInt8] {
        let prefix = "http://"
        let isPlain = text.allSatisfy(in: part) { $0 >= 0x80 || !PercentEncoding.isReserved($0) }
        let name = String(validating: text.array(part), as: UTF8.self)
        let ascii = isPlain ? name.flatMap { URL(string: prefix + $0 + "/") }?.absoluteString : nil
        guard let ascii, ascii.hasPrefix(prefix), ascii.hasSuffix("/"), !ascii.contains("%") else {
            throw Self.failure(in: text, "its host is not an international name: write it in its xn-- form")
        }
        return Array(ascii.utf8.dropFirst(prefix.utf8.count).dropLast())
    }

    /// Reads an IPv6 address in brackets and writes its canonical form (RFC 5952).
    private mutating func readAddress(_ text: Span<UInt8>, in literal: Range<Int>) throws(MalformedURL) {
        let isClosed = text[literal.upperBound - 1] == UInt8(ascii: "]")
        let content = String(decoding: text.array(literal).dropFirst().dropLast(), as: UTF8.self)
        guard isClosed, let address = IPv6Address(content) else {
            throw Self.failure(in: text, "the text in brackets is not an IPv6 address without a zone")
        }
        url.bytes.append(contentsOf: "[\(address)]".utf8)
    }
}
