extension RequestURL {
    /// The absolute URL of a reference (RFC 3986 section 5.2): an absolute one as it is; `/a` from the base's root; `a`
    /// beside the base's last segment, so that a base usually ends with `/`; `?a` on the base's path; nothing and `#a` on
    /// its path and query.
    static func resolve(_ reference: String, against base: String) throws(MalformedURL) -> String {
        guard !hasScheme(reference) else { return reference }
        let base = try RequestURL(parsing: base)
        let authority = base.userInfo.map { String(decoding: $0, as: UTF8.self) + "@" } ?? ""
        let origin = String(decoding: base.origin, as: UTF8.self)
            .replacing("://", with: "://\(authority)", maxReplacements: 1)
        let path = String(decoding: base.path, as: UTF8.self)
        // By bytes: a combining character may stand behind a slash.
        guard !reference.utf8.starts(with: "//".utf8) else { return "\(base.scheme):\(reference)" }
        guard reference.utf8.first != UInt8(ascii: "/") else { return origin + reference }
        switch reference.utf8.first.map(Unicode.Scalar.init) {
        case "?": return origin + path + reference
        case nil, "#": return origin + base.text().dropFirst(base.origin.count) + reference
        default: return origin + path[...(path.lastIndex(of: "/") ?? path.startIndex)] + reference
        }
    }

    /// Whether it begins with a scheme (section 3.1), and so is no reference.
    private static func hasScheme(_ text: String) -> Bool {
        guard let colon = text.firstIndex(of: ":"), let first = text.first, first.isASCII, first.isLetter else {
            return false
        }
        return text[..<colon].allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }
    }
}
