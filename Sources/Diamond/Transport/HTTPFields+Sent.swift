import HTTPTypes

extension HTTPFields {
    /// Those that a transport hands to its library: without the framing, which is the library's own, and with all
    /// cookies in one field.
    var sent: [HTTPField] {
        var sent = self
        sent.joinCookies()
        return sent.filter { $0.name != .contentLength && $0.name != .transferEncoding }
    }
}
