/// How a transport reaches servers: by which proxy, and whom it trusts.
///
/// ```swift
/// configuration.transportSettings.proxy = .through(Proxy("http://proxy.example.com:3128"))
/// configuration.transportSettings.tls.minimumVersion = .v1_3
/// ```
///
/// What a transport cannot do it refuses with `badSettings`, which names it; it never does without. ``CurlTransport`` can all
/// of this. On ``URLSessionTransport`` see there; an `HTTPClientTransport` is made over a client that has its own.
public struct TransportSettings: Hashable, Sendable {
    /// What stands between it and the servers; the platform's by default.
    public var proxy = ProxySelection.system
    /// Whom it trusts, and as whom it appears.
    public var tls = TLSSettings()

    /// The platform's proxies and certificates.
    public init() {}

    /// Whether somebody has to be asked for a secret.
    var namesSecrets: Bool { TransportPasswords.secrets(of: self).contains { $0.secret?.name != nil } }
}

extension TransportError {
    /// What settings ask for that cannot be.
    static func badSettings(_ reason: String) -> TransportError {
        TransportError(.badSettings, "the transport's settings cannot be kept to: \(reason)")
    }
}
