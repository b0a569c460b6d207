import HTTPTypes

extension HTTPFields {
    /// Those that a transport hands to its library: without the framing, which is the library's own, and with all
    /// cookies in one field. `HTTPFields` divides them for HTTP/2; HTTP/1.1 knows one field only (RFC 6265 section 5.4,
    /// RFC 9113 section 8.2.3), and what joins repeated fields puts commas between them.
    var sent: [HTTPField] {
        var (sent, cookies) = ([HTTPField](), Int?.none)
        for field in self where field.name != .contentLength && field.name != .transferEncoding {
            if field.name == .cookie, let cookies {
                sent[cookies].value += "; \(field.value)"
            } else {
                if field.name == .cookie { cookies = sent.count }
                sent.append(field)
            }
        }
        return sent
    }
}
