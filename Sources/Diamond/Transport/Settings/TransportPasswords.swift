/// The values of the secrets that a transport's settings name.
struct TransportPasswords: Hashable, Sendable {
    private(set) var proxy: String?
    private(set) var privateKey: String?

    /// Returns the secrets of the settings and the properties for their values. ``TransportSettings/namesSecrets`` uses
    /// the same list.
    static func secrets(
        of settings: TransportSettings
    ) -> [(place: WritableKeyPath<TransportPasswords, String?>, secret: Secret?)] {
        [
            (\.proxy, settings.proxy.password),
            (\.privateKey, settings.tls.clientCertificate?.password),
        ]
    }

    /// Returns the passwords for settings, with named secrets from a provider.
    ///
    /// - Parameter provider: the provider of secrets; `nil` if there is none.
    static func resolved(
        for settings: TransportSettings,
        of provider: (any CredentialProvider)?
    ) async throws(TransportError) -> TransportPasswords {
        var passwords = TransportPasswords()
        for case (let place, let secret?) in secrets(of: settings) {
            passwords[keyPath: place] = try await value(of: secret, provider)
        }
        return passwords
    }

    private static func value(
        of secret: Secret,
        _ provider: (any CredentialProvider)?
    ) async throws(TransportError) -> String {
        switch secret.kind {
        case .value(let value): return value
        case .named(let name):
            let value: String?
            do { value = try await provider?.secret(name, for: nil) } catch {
                let secret = "the secret '\(name.printable)'"
                throw .badSettings("the credential provider failed on \(secret): see why it throws")
            }
            guard let value else {
                throw .badSettings(
                    "the secret '\(name.printable)' is not known: give a credential provider that knows it")
            }
            return value
        }
    }
}

extension ProxySelection {
    fileprivate var password: Secret? { if case .through(let proxy) = self { proxy.password } else { nil } }
}
