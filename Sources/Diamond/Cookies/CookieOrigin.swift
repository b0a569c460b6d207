/// The host, path and scheme of a URL that a cookie comes from, or would go to.
struct CookieOrigin: Hashable, Sendable {
    let host: String
    /// As it is sent: with that, and not with its normal form, a server compares the paths of its cookies.
    let path: String
    let isSecure: Bool

    /// - Parameter url: absolute; `nil` where it is none.
    init?(_ url: String) {
        guard let url = try? RequestURL(parsing: url) else { return nil }
        host = url.host
        path = url.sentPath
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
        host.isExactly(domain) || (!isAddress && host.hasSuffix("." + domain))
    }

    /// The directory of the path, where a server names none (RFC 6265 section 5.1.4).
    var defaultPath: String {
        guard path.first == "/", let last = path.lastIndex(of: "/"), last > path.startIndex else { return "/" }
        return String(path[..<last])
    }

    /// RFC 6265 section 5.1.4.
    func isBelow(_ path: String) -> Bool { Self.isPath(self.path, below: path) }

    static func isPath(_ path: String, below directory: String) -> Bool {
        // By bytes, as all that is compared on the wire.
        let (path, directory, slash) = (path.utf8, directory.utf8, UInt8(ascii: "/"))
        guard path.starts(with: directory) else { return false }
        return path.count == directory.count || directory.last == slash
            || path.dropFirst(directory.count).first == slash
    }

    /// Whether a cookie goes along with a request to it.
    func takes(_ cookie: Cookie) -> Bool {
        let isItsHost = cookie.isHostOnly ? host.isExactly(cookie.domain) : isWithin(cookie.domain)
        return isItsHost && isBelow(cookie.path) && (isSecure || !cookie.isSecure)
    }
}
