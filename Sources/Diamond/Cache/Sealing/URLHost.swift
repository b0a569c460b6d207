/// The host in the text of a URL in normal form, without scheme and port.
package enum URLHost {
    /// Returns the host of a URL; `nil` if there is none.
    package static func of(_ url: String) -> Substring? {
        authority(of: url).map { $0.prefix(while: { $0 != "/" && $0 != "?" && $0 != "#" }) }.map(withoutPort)
    }

    /// Returns the host of all URLs that begin with a text; `nil` if they may have different hosts.
    static func ofAll(beginningWith prefix: String) -> Substring? {
        guard let authority = authority(of: prefix), let end = authority.firstIndex(of: "/") else { return nil }
        return withoutPort(authority[..<end])
    }

    private static func authority(of url: String) -> Substring? {
        guard let start = url.firstRange(of: "://")?.upperBound else { return nil }
        return url[start...]
    }

    // An IPv6 address has colons of its own, between brackets.
    private static func withoutPort(_ authority: Substring) -> Substring {
        guard let end = authority.lastIndex(of: ":"), !authority[end...].contains("]") else { return authority }
        return authority[..<end]
    }
}
