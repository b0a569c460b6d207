extension RequestURL {
    /// Returns the absolute URL of a reference (RFC 3986 section 5.2). An absolute reference is returned as it is. `/a`
    /// starts at the base's root. `a` replaces the base's last segment, so that a base usually ends with `/`. `?a`
    /// keeps the base's path. An empty reference and `#a` keep its path and query.
    ///
    /// - Parameter isDirectory: whether the path of the base counts as a directory, even if no slash ends it.
    static func resolve(
        _ reference: String, against base: String, isDirectory: Bool = false
    ) throws(MalformedURL) -> String {
        guard !hasScheme(reference) else { return reference }
        let base = try RequestURL(parsing: base)
        let authority = base.userInfo.map { String(decoding: $0, as: UTF8.self) + "@" } ?? ""
        let origin = String(decoding: base.origin, as: UTF8.self)
            .replacing("://", with: "://\(authority)", maxReplacements: 1)
        let path = base.sentPath
        // By bytes: a combining character may follow a slash.
        guard !reference.utf8.starts(with: "//".utf8) else { return "\(base.scheme):\(reference)" }
        guard reference.utf8.first != UInt8(ascii: "/") else { return origin + reference }
        switch reference.utf8.first.map(Unicode.Scalar.init) {
        case "?": return origin + path + reference
        case nil, "#": return origin + base.text().dropFirst(base.origin.count) + reference
        default:
            // By bytes: a combining character may follow the slash.
            let isEnded = !isDirectory || path.utf8.last == UInt8(ascii: "/")
            return origin + (isEnded ? path[...(path.lastIndex(of: "/") ?? path.startIndex)] : path + "/") + reference
        }
    }

    /// Returns the absolute URL of an app's reference. An absolute reference is returned as it is. A relative one must
    /// not leave the base, because parts of it may be untrusted, as in `"cities/\(name)"`. The base is a directory.
    ///
    /// - Throws: ``MalformedURL`` for a relative reference to another host (`//host/`), or with `..` in its path.
    ///   A backslash counts as a slash, and `..` may be escaped, because some servers treat them alike.
    static func resolve(_ reference: String, within base: String) throws(MalformedURL) -> String {
        guard !hasScheme(reference) else { return reference }
        let path = reference.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        let segments = PercentEncoding.decode(Array(path))
            .split(omittingEmptySubsequences: false) { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
        let isNetworkPath =
            path.count > 1 && path.prefix(2).allSatisfy { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
        guard !isNetworkPath, !segments.contains(where: { $0.elementsEqual("..".utf8) }) else {
            throw leavesBase(reference, isNetworkPath: isNetworkPath)
        }
        return try resolve(reference, against: base, isDirectory: true)
    }

    private static func leavesBase(_ reference: String, isNetworkPath: Bool) -> MalformedURL {
        let shown = masked(Array(reference.utf8))
        let reason =
            isNetworkPath
            ? "it names another host: write a whole URL with https://, or escape its untrusted parts"
            : "'..' leaves its directory: write the intended path, or escape its untrusted parts"
        return MalformedURL(message: "the URL \(shown) leaves the engine's base URL: \(reason)")
    }

    /// Whether a text starts with a scheme (section 3.1), so that it is not a relative reference.
    static func hasScheme(_ text: some StringProtocol) -> Bool {
        // By bytes: a combining character may follow the colon.
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), let first = text.utf8.first, first.isLetter
        else {
            return false
        }
        return text.utf8[..<colon].allSatisfy { $0.isLetter || (0x30...0x39).contains($0) || "+-.".utf8.contains($0) }
    }
}

extension UInt8 {
    fileprivate var isLetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) }
}
