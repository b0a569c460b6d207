/// An absolute `http` or `https` URL in its normal form (RFC 3986 section 6.2.2 and 6.2.3).
///
/// Scheme and host in lower case, the scheme's own port and the fragment dropped, dot segments removed, an empty path
/// made `/`, percent-encoding in one form. Path case and a trailing slash are left alone: they may mean something.
package struct RequestURL: Hashable {
    /// `http` or `https`.
    private(set) var scheme = ""
    /// What stood before `@`, still encoded: a credential, never part of ``text``.
    private(set) var userInfo: [UInt8]?
    private(set) var host: [UInt8] = []
    /// `nil` for the scheme's own.
    private(set) var port: Int?
    private(set) var path: [UInt8] = []
    /// The query as written, with only what must be encoded encoded; `nil` where there is no `?`.
    private(set) var query: [UInt8]?

    init(parsing text: String) throws(MalformedURL) {
        let bytes = Array(text.utf8)
        var parser = Parser(bytes: bytes, end: bytes.firstIndex(of: UInt8(ascii: "#")) ?? bytes.count)
        scheme = try parser.scheme()
        let authority = try parser.authority()
        userInfo = authority.userInfo
        host = authority.host
        port = authority.port == (scheme == "http" ? 80 : 443) ? nil : authority.port
        path = Self.removingDotSegments(try parser.path())
        query = try parser.query()
    }

    /// `scheme://host[:port]`.
    var origin: String {
        "\(scheme)://\(String(decoding: host, as: UTF8.self))\(port.map { ":\($0)" } ?? "")"
    }

    /// The URL to send, with `items` behind its own query. Without user info and fragment.
    func text(adding items: [QueryItem] = []) -> String {
        var bytes = Array(origin.utf8) + path
        let added = items.isEmpty ? nil : items.joinedQuery
        let parts = [query, added].compactMap { $0 }
        if !parts.isEmpty { bytes += [UInt8(ascii: "?")] + parts.joined(separator: [UInt8(ascii: "&")]) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The URL with `items` as its whole query.
    static func text(_ url: RequestURL, _ items: [QueryItem]) -> String {
        var bare = url
        bare.query = nil
        return bare.text(adding: items)
    }

    /// The query's own items, escapes in one form. Only escapes of unreserved characters are undone: a bare `,` or `+`
    /// may divide what an escaped one does not (RFC 3986 section 2.2).
    var queryItems: [QueryItem] {
        guard let query else { return [] }
        return query.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false).map { token in
            guard let equals = token.firstIndex(of: UInt8(ascii: "=")) else {
                return QueryItem(name: Self.normalizedQuery(token), value: nil)
            }
            let value = token[token.index(after: equals)...]
            return QueryItem(name: Self.normalizedQuery(token[..<equals]), value: Self.normalizedQuery(value))
        }
    }

    private static func normalizedQuery(_ token: ArraySlice<UInt8>) -> [UInt8] {
        var normalized: [UInt8] = []
        var rest = token
        while let byte = rest.popFirst() {
            guard byte == PercentEncoding.percent, let high = rest.popFirst(), let low = rest.popFirst() else {
                // Brackets have no place in a query; everybody writes them all the same.
                let isBracket = byte == UInt8(ascii: "[") || byte == UInt8(ascii: "]")
                PercentEncoding.append(byte, bare: !isBracket, to: &normalized)
                continue
            }
            let value = (Hex.value(of: high) ?? 0) << 4 | (Hex.value(of: low) ?? 0)
            PercentEncoding.append(value, bare: PercentEncoding.isUnreserved(value), to: &normalized)
        }
        return normalized
    }

    // RFC 3986 section 5.2.4, for a path that is empty or begins with "/".
    private static func removingDotSegments(_ path: [UInt8]) -> [UInt8] {
        guard !path.isEmpty else { return [UInt8(ascii: "/")] }
        let dot: ArraySlice<UInt8> = [UInt8(ascii: ".")]
        let dots = dot + dot
        let segments = path.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard segments.contains(where: { $0 == dot || $0 == dots }) else { return path }
        var kept: [ArraySlice<UInt8>] = []
        for segment in segments where segment != dot {
            if segment == dots { _ = kept.popLast() } else { kept.append(segment) }
        }
        if let last = segments.last, last == dot || last == dots { kept.append([]) }
        return kept.isEmpty ? [UInt8(ascii: "/")] : kept.flatMap { [UInt8(ascii: "/")] + $0 }
    }
}
