import HTTPTypes

extension HTTPFields {
    /// Joins all `Cookie` fields in one. `HTTPFields` splits them for HTTP/2, but HTTP/1.1 allows one field only (RFC
    /// 6265 section 5.4, RFC 9113 section 8.2.3). Code that joins repeated fields would put commas between the cookies.
    mutating func joinCookies() {
        guard let first = firstIndex(where: { $0.name == .cookie }) else { return }
        let others = indices[(first + 1)...].filter { self[$0].name == .cookie }
        guard !others.isEmpty else { return }
        let values = ([first] + others).map { self[$0].bytes }
        self[first] = HTTPField(name: self[first].name, lenientValue: Array(values.joined(separator: "; ".utf8)))
        for index in others.reversed() { remove(at: index) }
    }
}
