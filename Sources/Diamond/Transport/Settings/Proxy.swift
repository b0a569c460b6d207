/// What stands between a transport and the servers.
public enum ProxySelection: Hashable, Sendable {
    /// What the platform says: with libcurl the environment (`http_proxy`, `https_proxy`, `all_proxy`, `no_proxy`), with
    /// URLSession on Apple platforms the system's settings. The default.
    case system
    /// None, whatever the platform says.
    case none
    /// This one, but for its ``Proxy/exceptions``.
    case through(Proxy)
}

/// A proxy of HTTP or SOCKS.
public struct Proxy: Hashable, Sendable {
    /// Scheme, host and port: `http`; `https`, spoken to over TLS, which its certificate has to pass as a server's has;
    /// `socks5`, and `socks5h`, which looks names up itself. `https` requests go through a tunnel (`CONNECT`), which the proxy
    /// cannot look into.
    public var url: String
    /// For servers of both kinds: Basic authentication (RFC 7617), or that of SOCKS (RFC 1929).
    public var username: String?
    /// Asked of the engine's ``CredentialProvider`` for each exchange, for no identity.
    public var password: Secret?
    /// Hosts that are reached without it: names, with all that is below them, and addresses (`127.0.0.1`); `*` for all.
    public var exceptions: [String]

    /// What is wrong with it is told where it is used, with `badSettings`.
    public init(_ url: String, username: String? = nil, password: Secret? = nil, exceptions: [String] = []) {
        self.url = url
        self.username = username
        self.password = password
        self.exceptions = exceptions
    }

    /// Why there can be no such proxy; `nil` where there can be.
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
