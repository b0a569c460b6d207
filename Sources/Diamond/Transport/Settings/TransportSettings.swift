/// The settings for a transport's connections: the proxy, and TLS.
///
/// ```swift
/// configuration.transportSettings.proxy = .through(Proxy("http://proxy.example.com:3128"))
/// configuration.transportSettings.tls.minimumVersion = .v1_3
/// ```
///
/// A transport never ignores a setting: it refuses one that it does not support with `badSettings`. ``CurlTransport``
/// supports all of them, ``URLSessionTransport`` those in its documentation. An `HTTPClientTransport` uses a client
/// with its own settings.
public struct TransportSettings: Hashable, Sendable {
    /// The proxy between the transport and the servers; the platform's by default.
    public var proxy = ProxySelection.system
    /// The certificates that the transport trusts, and its own certificate.
    public var tls = TLSSettings()

    /// Creates settings with the platform's proxies and certificates.
    public init() {}

    /// Whether the settings name a secret, whose value comes from a ``CredentialProvider``.
    var namesSecrets: Bool { TransportPasswords.entries(of: self).contains { $0.secret?.name != nil } }
}

extension TransportError {
    /// Returns the error for settings that cannot be applied.
    static func badSettings(_ reason: String) -> TransportError {
        TransportError(.badSettings, "the transport's settings cannot be applied: \(reason)")
    }
}

/// A transport that fails every request. It replaces a transport whose settings cannot be applied, so that nothing is
/// sent with other settings.
struct RefusingTransport: Transport {
    let refusal: TransportError

    func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse { throw refusal }

    func close() async {}
}
