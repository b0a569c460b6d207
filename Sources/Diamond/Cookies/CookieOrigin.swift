/// Where a cookie comes from, or would go: host, path and scheme of a URL.
struct CookieOrigin: Hashable, Sendable {
    let host: String
    let path: String
    let isSecure: Bool

    /// - Parameter url: absolute; `nil` where it is none.
    init?(_ url: String) {
        guard let url = try? RequestURL(parsing: url) else { return nil }
        let origin = String(decoding: url.origin, as: UTF8.self)
        guard let start = origin.firstRange(of: "://")?.upperBound else { return nil }
        let authority = origin[start...]
        // An address of version 6 stands in brackets, and has colons of its own.
        let end = authority.first == "[" ? authority.firstIndex(of: "]").map(authority.index(after:)) : nil
        host = String(authority[..<(end ?? authority.firstIndex(of: ":") ?? authority.endIndex)])
        path = String(decoding: url.path, as: UTF8.self)
        isSecure = url.scheme == "https"
    }

    /// Whether it is an address and no name, which has nothing below it.
    var isAddress: Bool {
        host.first == "[" || host.split(separator: ".").last.map { $0.allSatisfy(\.isNumber) } == true
    }

    /// The host, and those that it is below: `a.b.c`, `b.c`, `c`.
    var domains: [String] {
        guard !isAddress else { return [host] }
        return host.indices.filter { $0 == host.startIndex || host[host.index(before: $0)] == "." }
            .map { String(host[$0...]) }
    }

    /// RFC 6265 section 5.1.3.
    func isWithin(_ domain: String) -> Bool {
        host == domain || (!isAddress && host.hasSuffix("." + domain))
    }

    /// The directory of the path, where a server names none (RFC 6265 section 5.1.4).
    var defaultPath: String {
        guard path.first == "/", let last = path.lastIndex(of: "/"), last > path.startIndex else { return "/" }
        return String(path[..<last])
    }

    /// RFC 6265 section 5.1.4.
    func isBelow(_ path: String) -> Bool { Self.isPath(self.path, below: path) }

    static func isPath(_ path: String, below directory: String) -> Bool {
        guard path.hasPrefix(directory) else { return false }
        return path.count == directory.count || directory.last == "/" || path.dropFirst(directory.count).first == "/"
    }

    /// Whether a cookie goes along with a request to it.
    func takes(_ cookie: Cookie) -> Bool {
        let isItsHost = cookie.isHostOnly ? host == cookie.domain : isWithin(cookie.domain)
        return isItsHost && isBelow(cookie.path) && (isSecure || !cookie.isSecure)
    }
}
