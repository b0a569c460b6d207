/// A provider of request identities and of the values of secrets, such as a keychain, the environment or a login.
///
/// A request with a ``RetryPolicy/deadline`` waits for the provider no longer than that. The calling task is then
/// canceled, and a later value is dropped.
public protocol CredentialProvider: Sendable {
    /// Returns the identity of a request that names none, such as `"user-42"`; `nil` for no identity.
    ///
    /// It is called before the request's key is computed, never on the caller's actor. A request that it sends through
    /// the same engine and waits for must name its own identity. It is called again before a replay job is sent. The
    /// job holds its lane permit then, so answer from memory, or send through another engine.
    func identity(for request: Request) async throws -> String?

    /// Returns the value of a named secret; `nil` for an unknown secret.
    ///
    /// It is called before a request waits for its lane permit, again after such a wait, and after secrets were
    /// refreshed. That is more often than requests are sent, so answer from memory. Send requests that it needs through
    /// another engine, because the two requests might wait for each other.
    func secret(_ name: String, for identity: String?) async throws -> String?
}

extension CredentialProvider {
    public func identity(for request: Request) async throws -> String? { nil }
}

/// A provider that can refresh secrets that a server no longer accepts (status 401), such as an access token.
public protocol RefreshableCredentialProvider: CredentialProvider {
    /// Refreshes secrets. ``CredentialProvider/secret(_:for:)`` is called for them afterwards.
    ///
    /// It is called once for all requests that wait for a secret, at most 5 times in 30 seconds for each secret. The
    /// call holds no lane permit, so it may send through the same engine. A request that it sends with one of these
    /// secrets gets the 401 as its response. A request that it starts must not name these secrets, because it would
    /// wait for itself.
    ///
    /// - Throws: any error that prevents the refresh. The requests then fail with `noCredential`.
    func refreshSecrets(_ names: Set<String>, for identity: String?) async throws
}
