/// A provider of the identities for which requests are sent, and of the values of secrets: a keychain, an environment,
/// a login.
///
/// A request with a ``RetryPolicy/deadline`` waits for the provider no longer than that allows. The asking task is
/// canceled then, and a value that comes later is dropped.
public protocol CredentialProvider: Sendable {
    /// Returns the identity of a request that names none itself, such as `"user-42"`; `nil` where it is of no identity
    /// in particular. Asked before the request's identity is computed, never on the caller's actor. A request that this
    /// sends and waits for through the same engine has to name its own identity. Asked again before a job of the queue
    /// leaves, which has its place on the wire then: answer that from memory, or send through another engine.
    func identity(for request: Request) async throws -> String?

    /// Returns the value of a named secret; `nil` where there is none. Asked before a request gets in line for the
    /// wire, again where it has waited there, and after secrets were refreshed. That is more often than requests are
    /// sent, so answer from memory. Send what this needs through another engine, or the two may wait for each other.
    func secret(_ name: String, for identity: String?) async throws -> String?
}

extension CredentialProvider {
    public func identity(for request: Request) async throws -> String? { nil }
}

/// A provider that can refresh secrets when a server no longer takes them (status 401), such as an access token from a
/// refresh token.
public protocol RefreshableCredentialProvider: CredentialProvider {
    /// Refreshes secrets. ``CredentialProvider/secret(_:for:)`` is asked for them afterwards.
    ///
    /// Called once for all requests that wait for a secret, at most 5 times in 30 seconds for each. The call holds no
    /// place on the wire, so it may send through the same engine. A request that it sends itself with one of these
    /// secrets gets its 401 as the answer. A request that it enqueues must not name them: it would wait for itself.
    ///
    /// - Throws: any error that keeps it from it. The requests then fail with `noCredential`.
    func refreshSecrets(_ names: Set<String>, for identity: String?) async throws
}
