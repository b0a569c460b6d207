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

    /// Removes a `Content-Length` that does not count: next to chunks, which override it (RFC 9112 section 6.3), and of
    /// a 204 (RFC 9110 section 8.6). It would be stored and passed on with a body of another length.
    mutating func removeVoidLength(status: Int) {
        if status == 204 || isChunked { self[.contentLength] = nil }
    }

    private var isChunked: Bool {
        contains { field in field.name == .transferEncoding && field.value.listElements.contains("chunked") }
    }
}
