/// The proxy between a transport and the servers.
public enum ProxySelection: Hashable, Sendable {
    /// The platform's proxy, the default. With libcurl the environment names it (`http_proxy`, `https_proxy`,
    /// `all_proxy`, `no_proxy`), with URLSession on Apple platforms the system's settings.
    case system
    /// No proxy, whatever the platform says.
    case none
    /// This proxy, except for its ``Proxy/exceptions``.
    case through(Proxy)
}

/// An HTTP or SOCKS proxy.
public struct Proxy: Hashable, Sendable {
    /// Scheme, host and port: `http`; `https`, spoken to over TLS, which its certificate has to pass as a server's has;
    /// `socks5`, and `socks5h`, which looks names up itself. `https` requests go through a tunnel (`CONNECT`), which the proxy
    /// cannot look into.
    public var url: String
    /// The user name, for both kinds of proxy: for Basic authentication (RFC 7617), or for that of SOCKS (RFC 1929).
    public var username: String?
    /// The password. The engine's ``CredentialProvider`` is asked for it for each exchange, for no identity.
    public var password: Secret?
    /// The hosts that are reached without the proxy: names, which include all names below them, and addresses
    /// (`127.0.0.1`); `*` for all hosts.
    public var exceptions: [String]

    /// Creates a proxy. Errors in it are reported where it is used, with `badSettings`.
    public init(_ url: String, username: String? = nil, password: Secret? = nil, exceptions: [String] = []) {
        self.url = url
        self.username = username
        self.password = password
        self.exceptions = exceptions
    }

    /// The error for a proxy that cannot be used; `nil` for others.
    var refusal: TransportError? {
        guard let scheme = url.firstRange(of: "://").map({ url[..<$0.lowerBound].lowercased() }),
            ["http", "https", "socks5", "socks5h"].contains(scheme)
        else { return .badSettings("the proxy's URL is none: begin it with http, https, socks5 or socks5h") }
        guard !url.contains("@") else {
            return .badSettings("the proxy's URL holds a user: give username and password by themselves")
        }
        guard !exceptions.contains(where: { $0.isEmpty || $0.contains { ", \r\n".contains($0) } }) else {
            return .badSettings("an exception of the proxy is no host: give one name or address each")
        }
        return nil
    }
}

extension Proxy: CustomStringConvertible {
    /// The URL, without user and password.
    public var description: String { refusal == nil ? url : "•••" }
}
