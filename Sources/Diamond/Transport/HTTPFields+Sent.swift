import HTTPTypes

extension HTTPFields {
    /// Those that a transport hands to its library: without the framing, which is the library's own, and with all
    /// cookies in one field.
    var sent: [HTTPField] {
        var sent = self
        sent.joinCookies()
        return sent.filter { $0.name != .contentLength && $0.name != .transferEncoding }
    }

    /// The same for a library that sends text: without what is not UTF-8, which would arrive as something else.
    var sentAsText: [HTTPField] { sent.filter(\.isText) }
}

extension HTTPField {
    /// Whether the value is UTF-8.
    fileprivate var isText: Bool {
        withUnsafeBytesOfValue { bytes in
            bytes.allSatisfy { $0 < 0x80 } || String(validating: bytes, as: UTF8.self) != nil
        }
    }

    /// Whether two values are the same bytes.
    func hasBytes(of other: HTTPField) -> Bool {
        withUnsafeBytesOfValue { bytes in other.withUnsafeBytesOfValue { bytes.elementsEqual($0) } }
    }
}
