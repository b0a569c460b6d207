#if Tools
import ArgumentParser
import Diamond
import HTTPTypes
import NIOConcurrencyHelpers

/// The server behind a proxy, and the names by which clients address it.
struct ProxySite: Sendable {
    /// The origin: scheme, host and port.
    let origin: String
    /// The name of this proxy in `Via`, which no other proxy has (RFC 9110 section 7.6.3).
    let pseudonym = "diamond-" + String(UInt64.random(in: 1 << 60 ... .max), radix: 16)
    /// Whether the client is another proxy, whose fields about its client are passed on.
    let trustsForwarded: Bool
    /// The scheme of the origin, with `://`.
    private let scheme: String
    /// The authorities of the origin, in lower case.
    private let originAuthorities: Set<String>
    /// The names of the proxy's host, in lower case.
    private let ownNames: [String]
    /// The authorities of the proxy, in lower case.
    private let ownAuthorities: NIOLockedValueBox<Set<String>>

    /// Creates a site; `nil` if the text is not an `http` or `https` origin, or names the proxy itself.
    ///
    /// - Parameters:
    ///   - text: the URL of the origin, without path, query and user info.
    ///   - listening: the host and port that the proxy listens on.
    ///   - trustsForwarded: whether the fields of the client about its own client are passed on.
    init?(origin text: String, listening: ListenAddress, trustsForwarded: Bool = false) {
        let origin = text.hasSuffix("/") ? String(text.dropLast()) : text
        let lower = origin.lowercased()
        guard let scheme = ["http://", "https://"].first(where: lower.hasPrefix) else { return nil }
        let authority = String(lower.dropFirst(scheme.count))
        guard Self.isAuthority(authority), !listening.names.contains(where: { authority == "\($0):\(listening.port)" })
        else {
            return nil
        }
        self.trustsForwarded = trustsForwarded
        self.scheme = scheme
        let standard = scheme == "https://" ? ":443" : ":80"
        let short = authority.hasSuffix(standard) ? String(authority.dropLast(standard.count)) : authority
        self.origin = scheme + short
        originAuthorities = [authority, short, short + standard]
        ownNames = listening.names
        ownAuthorities = NIOLockedValueBox([])
        note(port: listening.port)
    }

    /// Notes the port that the proxy listens on. If that of `--listen` is 0, the system has chosen another.
    func note(port: Int) {
        ownAuthorities.withLockedValue { $0 = Set(ownNames.map { "\($0):\(port)" }) }
    }

    /// Whether a text is a host, with or without a port.
    private static func isAuthority(_ text: String) -> Bool {
        let isInBrackets = text.hasPrefix("[")
        let end = isInBrackets ? text.firstIndex(of: "]").map { text.index(after: $0) } : text.firstIndex(of: ":")
        guard let end = end ?? (isInBrackets ? nil : text.endIndex), end > text.startIndex else { return false }
        let rest = text[end...]
        let hasPort =
            rest.first == ":" && rest.dropFirst().allSatisfy { $0.isASCII && $0.isNumber }
            && (UInt16(rest.dropFirst()) ?? 0) > 0
        return (rest.isEmpty || hasPort)
            && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"/?#@\\".utf8.contains($0) }
    }

    /// Returns the `Via` field of this proxy.
    func via(version: String) -> HTTPField { HTTPField(name: .via, value: "\(version) \(pseudonym)") }

    /// Whether a message has passed this proxy before, by its `Via` fields.
    func hasForwarded(_ fields: HTTPFields) -> Bool {
        fields[values: .via].flatMap { $0.split(separator: ",") }.contains { element in
            element.split(separator: " ").dropFirst().first?.trimmingPrefix(while: { $0 == " " }) == pseudonym[...]
        }
    }

    /// Whether an absolute-form target with this authority is for the proxy.
    func isAddressed(by authority: some StringProtocol) -> Bool {
        let authority = authority.lowercased()
        return originAuthorities.contains(authority) || ownAuthorities.withLockedValue { $0.contains(authority) }
    }

    // MARK: URLs in responses

    /// Returns the client's form of a URL at the origin; `nil` for any other URL, and for a path.
    ///
    /// - Parameter base: the scheme and authority by which the client has addressed the proxy; `nil` if it has sent no
    ///   `Host`.
    func clientURL(of url: String, base: String?) -> String? {
        guard let rest = Self.rest(of: url, after: [scheme, "//"], authorities: originAuthorities) else { return nil }
        guard let base else { return rest.hasPrefix("/") && !rest.hasPrefix("//") ? String(rest) : nil }
        return base + rest
    }

    /// Returns the origin's form of a URL at the address that the proxy listens on; `nil` for any other URL, and for a
    /// path.
    ///
    /// The authority by which a client has addressed the proxy does not count. It may be any, and the URL is stored for
    /// all clients.
    func originURL(of url: String) -> String? {
        let authorities = ownAuthorities.withLockedValue { $0 }
        let rest = Self.rest(of: url, after: ["http://", "https://", "//"], authorities: authorities)
        return rest.map { origin + $0 }
    }

    /// Returns the path, query and fragment of a URL if it has one of some schemes and one of some authorities.
    private static func rest(of url: String, after schemes: [String], authorities: Set<String>) -> Substring? {
        let beginning = url.prefix(8).lowercased()
        guard let scheme = schemes.first(where: beginning.hasPrefix) else { return nil }
        let named = url.utf8.dropFirst(scheme.utf8.count)
        let authority = Substring(named.prefix { !"/?#".utf8.contains($0) })
        return authorities.contains(authority.lowercased()) ? Substring(named[authority.endIndex...]) : nil
    }
}

/// The host and port of `--listen`.
struct ListenAddress: Sendable, Hashable {
    var host = "127.0.0.1"
    var port = 8080

    init() {}

    /// Reads `HOST:PORT`, `:PORT` or `PORT`; the host of an IPv6 address is in brackets. `nil` for anything else.
    init?(_ text: String) {
        let colon = text.lastIndex(of: ":")
        guard let port = UInt16(text[(colon.map { text.index(after: $0) } ?? text.startIndex)...]) else { return nil }
        var host = colon.map { String(text[..<$0]) } ?? ""
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = String(host.dropFirst().dropLast())
        } else if host.contains(":") {
            return nil
        }
        if !host.isEmpty { self.host = host }
        self.port = Int(port)
    }

    /// Reads the argument of an option.
    init(argument: String) throws {
        guard let address = ListenAddress(argument) else { throw ValidationError("write HOST:PORT") }
        self = address
    }

    func with(port: Int) -> ListenAddress {
        var address = self
        address.port = port
        return address
    }

    /// The names of the host in URLs.
    var names: [String] {
        let name = host.contains(":") ? "[\(host)]" : host.lowercased()
        return name == "127.0.0.1" || name == "[::1]" ? [name, "localhost"] : [name]
    }

    var url: String { "http://\(names[0]):\(port)" }
}
#endif
