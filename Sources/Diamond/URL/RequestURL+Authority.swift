import Foundation

extension RequestURL.Parser {
    /// Host and port of an authority without its user info (RFC 3986 section 3.2).
    func splitPort(
        of hostAndPort: ArraySlice<UInt8>,
        userInfo: [UInt8]?
    ) throws(MalformedURL) -> (userInfo: [UInt8]?, host: [UInt8], port: Int?) {
        let isLiteral = hostAndPort.first == UInt8(ascii: "[")
        let literalEnd =
            isLiteral ? hostAndPort.firstIndex(of: UInt8(ascii: "]")) ?? hostAndPort.endIndex : hostAndPort.startIndex
        let colon = hostAndPort[literalEnd...].firstIndex(of: UInt8(ascii: ":")) ?? hostAndPort.endIndex
        let port = try port(hostAndPort[colon...].dropFirst())
        return (userInfo, try host(hostAndPort[..<colon]), port)
    }

    private func port(_ digits: ArraySlice<UInt8>) throws(MalformedURL) -> Int? {
        guard !digits.isEmpty else { return nil }
        let isNumber = digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard isNumber, let port = Int(String(decoding: digits, as: UTF8.self)), (1...65535).contains(port) else {
            throw failure("its port is not a number from 1 to 65535")
        }
        return port
    }

    private func host(_ host: ArraySlice<UInt8>) throws(MalformedURL) -> [UInt8] {
        guard !host.isEmpty else { throw failure("it has no host") }
        guard host.first != UInt8(ascii: "[") else { return try address(host) }
        let name = try host.allSatisfy { $0 < 0x80 } ? host : international(host)[...]
        let dash = UInt8(ascii: "-"), dot = UInt8(ascii: "."), line = UInt8(ascii: "_")
        let lower = name.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
        let isName = lower.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || byte == dash || byte == dot || byte == line
        }
        guard isName else { throw failure("its host has a character that no name has") }
        return lower
    }

    /// An international name in its ASCII form, as far as Foundation knows it (UTS 46, not transitional: RFC 5891).
    private func international(_ host: ArraySlice<UInt8>) throws(MalformedURL) -> [UInt8] {
        let prefix = "http://"
        let isPlain = !host.contains { $0 < 0x80 && PercentEncoding.isReserved($0) }
        let text = String(validating: host, as: UTF8.self)
        let ascii = isPlain ? text.flatMap { URL(string: prefix + $0 + "/") }?.absoluteString : nil
        guard let ascii, ascii.hasPrefix(prefix), ascii.hasSuffix("/"), !ascii.contains("%") else {
            throw failure("its host is no international name: write it in its xn-- form")
        }
        return Array(ascii.utf8.dropFirst(prefix.utf8.count).dropLast())
    }

    /// An address in brackets, in the one form of RFC 5952.
    private func address(_ literal: ArraySlice<UInt8>) throws(MalformedURL) -> [UInt8] {
        let isClosed = literal.last == UInt8(ascii: "]")
        let text = String(decoding: literal.dropFirst().dropLast(), as: UTF8.self)
        guard isClosed, let address = IPv6Address(text) else {
            throw failure("what stands in brackets is not an IPv6 address without a zone")
        }
        return Array("[\(address)]".utf8)
    }
}
