/// The host, path and scheme of a URL that sets or receives cookies.
struct CookieOrigin: Hashable, Sendable {
    let host: String
    /// The path as it is sent. Servers compare it, and not its normal form, with the paths of cookies.
    let path: String
    let isSecure: Bool

    /// Creates the origin of an absolute URL; `nil` for any other text.
    init?(_ url: String) {
        guard let url = try? RequestURL(parsing: url) else { return nil }
        host = url.host
        path = url.sentPath
        isSecure = url.scheme == "https"
    }

    /// Whether the host is an address, which has no subdomains.
    var isAddress: Bool {
        host.first == "[" || host.split(separator: ".").last.map { $0.allSatisfy(\.isNumber) } == true
    }

    /// The host and its parent domains: `a.b.c`, `b.c`, `c`.
    var domains: [String] {
        guard !isAddress else { return [host] }
        return host.indices.filter { $0 == host.startIndex || host[host.index(before: $0)] == "." }
            .map { String(host[$0...]) }
    }

    /// Whether the host matches a domain (RFC 6265 section 5.1.3).
    func isWithin(_ domain: String) -> Bool {
        host.isExactly(domain) || (!isAddress && host.hasSuffix("." + domain))
    }

    /// The default path of a cookie: the directory of the path (RFC 6265 section 5.1.4).
    var defaultPath: String {
        guard path.first == "/", let last = path.lastIndex(of: "/"), last > path.startIndex else { return "/" }
        return String(path[..<last])
    }

    /// Whether the path matches a cookie's path (RFC 6265 section 5.1.4).
    func isBelow(_ path: String) -> Bool { Self.isPath(self.path, below: path) }

    static func isPath(_ path: String, below directory: String) -> Bool {
        // By bytes, as servers compare paths.
        let path = path.utf8
        let directory = directory.utf8
        let slash = UInt8(ascii: "/")
        guard path.starts(with: directory) else { return false }
        return path.count == directory.count || directory.last == slash
            || path.dropFirst(directory.count).first == slash
    }

    /// Whether a cookie is sent to the origin.
    func accepts(_ cookie: Cookie) -> Bool {
        let isItsHost = cookie.isHostOnly ? host.isExactly(cookie.domain) : isWithin(cookie.domain)
        return isItsHost && isBelow(cookie.path) && (isSecure || !cookie.isSecure)
    }
}
