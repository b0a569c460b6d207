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
    /// The scheme, host and port. The scheme is `http`, `https` (a TLS connection to the proxy, whose certificate is
    /// verified like a server's), `socks5`, or `socks5h` (the proxy resolves names). Requests to `https` URLs go
    /// through a tunnel (`CONNECT`), which the proxy cannot decrypt.
    public var url: String
    /// The user name, for both kinds of proxy: for Basic authentication (RFC 7617), or for that of SOCKS (RFC 1929).
    public var username: String?
    /// The password. It is requested from the engine's ``CredentialProvider`` for each exchange, without an identity.
    public var password: Secret?
    /// The hosts that are reached without the proxy: names, which include all names below them, and addresses
    /// (`127.0.0.1`); `*` for all hosts.
    public var exceptions: [String]

    /// Creates a proxy. An error in it is reported with `badSettings` when it is used.
    public init(_ url: String, username: String? = nil, password: Secret? = nil, exceptions: [String] = []) {
        self.url = url
        self.username = username
        self.password = password
        self.exceptions = exceptions
    }

    /// The error for an invalid proxy; `nil` for a valid one.
    var refusal: TransportError? {
        guard let scheme = url.firstRange(of: "://").map({ url[..<$0.lowerBound].lowercased() }),
            ["http", "https", "socks5", "socks5h"].contains(scheme)
        else { return .badSettings("the proxy's URL is not valid: begin it with http, https, socks5 or socks5h") }
        guard !url.contains("@") else {
            return .badSettings("the proxy's URL contains user info: set username and password instead")
        }
        guard !exceptions.contains(where: { $0.isEmpty || $0.contains { ", \r\n".contains($0) } }) else {
            return .badSettings("an exception of the proxy is not a host: give one name or address for each")
        }
        return nil
    }
}

extension Proxy: CustomStringConvertible {
    /// The URL, without user and password.
    public var description: String { refusal == nil ? url : "•••" }
}
