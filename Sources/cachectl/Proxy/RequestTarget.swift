#if Tools
import HTTPTypes

/// The target of a request line (RFC 9112 section 3.2).
enum RequestTarget {
    /// Returns the target for the origin: a path with its query, byte for byte, or `*`.
    ///
    /// - Throws: 421 for the URL of another server, 400 for a malformed target.
    static func path(
        of text: String, method: HTTPRequest.Method, site: ProxySite
    ) throws(ProxyProblem) -> String {
        let isValid = text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") }
        guard isValid else { throw .badRequest("the target is malformed") }
        if text.utf8.first == UInt8(ascii: "/") { return text }
        if text == "*", method == .options { return text }
        return try path(ofAbsolute: text, method: method, site: site)
    }

    /// Returns the authority of an absolute-form target; `nil` for any other target.
    static func authority(of target: String) -> String? {
        guard target.utf8.first != UInt8(ascii: "/"), let scheme = target.firstRange(of: "://") else { return nil }
        return String(target[scheme.upperBound...].prefix { $0 != "/" && $0 != "?" })
    }

    private static func path(
        ofAbsolute text: String, method: HTTPRequest.Method, site: ProxySite
    ) throws(ProxyProblem) -> String {
        let lower = text.lowercased()
        guard let scheme = ["http://", "https://"].first(where: lower.hasPrefix) else {
            throw .badRequest("the target is neither a path nor a URL")
        }
        let rest = text.utf8.dropFirst(scheme.utf8.count)
        let authority = rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        guard site.isAddressed(by: Substring(authority)) else {
            throw ProxyProblem(.misdirectedRequest, "the proxy serves another origin", closes: true)
        }
        let path = String(Substring(rest[authority.endIndex...]))
        guard !path.isEmpty else { return method == .options ? "*" : "/" }
        return path.utf8.first == UInt8(ascii: "?") ? "/" + path : path
    }
}
#endif
