import HTTPTypes

extension HTTPFields {
    /// The fields that a transport passes to its library: without the framing fields, which the library sets, and with
    /// all cookies in one field.
    var sent: [HTTPField] {
        var sent = self
        sent.joinCookies()
        return sent.filter { $0.name != .contentLength && $0.name != .transferEncoding }
    }

    /// The fields for a library that sends text: ``sent`` without values that are not UTF-8, which it would change.
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
