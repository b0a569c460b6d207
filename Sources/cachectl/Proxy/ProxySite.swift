#if Tools
import Diamond
import HTTPTypes

/// The server behind a proxy, and the names by which clients address it.
struct ProxySite: Sendable {
    /// The origin: scheme, host and port.
    let origin: String
    /// The name of this proxy in `Via`, which no other proxy has (RFC 9110 section 7.6.3).
    let pseudonym = "diamond-" + String(UInt64.random(in: 1 << 60 ... .max), radix: 16)
    /// The authorities of absolute-form targets that are for this proxy, in lower case.
    private let authorities: Set<String>

    /// Creates a site; `nil` if the text is not an `http` or `https` origin, or names the proxy itself.
    ///
    /// - Parameters:
    ///   - text: the URL of the origin, without path, query and user info.
    ///   - listening: the host and port that the proxy listens on.
    init?(origin text: String, listening: ListenAddress) {
        let origin = text.hasSuffix("/") ? String(text.dropLast()) : text
        let lower = origin.lowercased()
        guard let scheme = ["http://", "https://"].first(where: lower.hasPrefix) else { return nil }
        let authority = String(lower.dropFirst(scheme.count))
        let isAuthority =
            !authority.isEmpty && authority.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"/?#@\\".utf8.contains($0) }
        guard isAuthority, !listening.names.contains(where: { authority == "\($0):\(listening.port)" }) else {
            return nil
        }
        let standard = scheme == "https://" ? ":443" : ":80"
        let short = authority.hasSuffix(standard) ? String(authority.dropLast(standard.count)) : authority
        self.origin = scheme + short
        authorities = Set([authority, short, short + standard] + listening.names.map { "\($0):\(listening.port)" })
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
    func isAddressed(by authority: some StringProtocol) -> Bool { authorities.contains(authority.lowercased()) }
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

    /// The names of the host in URLs.
    var names: [String] {
        let name = host.contains(":") ? "[\(host)]" : host.lowercased()
        return name == "127.0.0.1" || name == "[::1]" ? [name, "localhost"] : [name]
    }

    var url: String { "http://\(names[0]):\(port)" }
}
#endif
