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
