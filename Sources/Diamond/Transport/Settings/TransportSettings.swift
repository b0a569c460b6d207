/// The settings for a transport's connections: the proxy, and TLS.
///
/// ```swift
/// configuration.transportSettings.proxy = .through(Proxy("http://proxy.example.com:3128"))
/// configuration.transportSettings.tls.minimumVersion = .v1_3
/// ```
///
/// A transport refuses a setting that it does not support with `badSettings`, which names the setting; it never ignores
/// one. ``CurlTransport`` supports all of them. For ``URLSessionTransport`` see there. An `HTTPClientTransport` is made
/// over a client that has its own settings.
public struct TransportSettings: Hashable, Sendable {
    /// The proxy between the transport and the servers; the platform's by default.
    public var proxy = ProxySelection.system
    /// The certificates that the transport trusts, and its own certificate.
    public var tls = TLSSettings()

    /// Creates settings with the platform's proxies and certificates.
    public init() {}

    /// Whether the settings name a secret, which a ``CredentialProvider`` has to be asked for.
    var namesSecrets: Bool { TransportPasswords.secrets(of: self).contains { $0.secret?.name != nil } }
}

extension TransportError {
    /// Returns the error for settings that cannot be kept to.
    static func badSettings(_ reason: String) -> TransportError {
        TransportError(.badSettings, "the transport's settings cannot be kept to: \(reason)")
    }
}
