/// The values of the secrets that a transport's settings name.
struct TransportPasswords: Hashable, Sendable {
    private(set) var proxy: String?
    private(set) var privateKey: String?

    /// A secret of the settings, and the property for its value.
    struct Entry {
        let property: WritableKeyPath<TransportPasswords, String?>
        let secret: Secret?
    }

    /// Returns the secrets of the settings. ``TransportSettings/namesSecrets`` uses the same list.
    static func entries(of settings: TransportSettings) -> [Entry] {
        [
            Entry(property: \.proxy, secret: settings.proxy.password),
            Entry(property: \.privateKey, secret: settings.tls.clientCertificate?.password),
        ]
    }

    /// Returns the passwords for settings, with named secrets from a provider.
    ///
    /// - Parameter provider: the provider of secrets; `nil` if there is none.
    static func resolved(
        for settings: TransportSettings,
        from provider: (any CredentialProvider)?
    ) async throws(TransportError) -> TransportPasswords {
        var passwords = TransportPasswords()
        for entry in entries(of: settings) {
            guard let secret = entry.secret else { continue }
            passwords[keyPath: entry.property] = try await value(of: secret, from: provider)
        }
        return passwords
    }

    private static func value(
        of secret: Secret,
        from provider: (any CredentialProvider)?
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
