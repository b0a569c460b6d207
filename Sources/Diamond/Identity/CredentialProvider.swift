/// Knows on whose behalf requests are sent, and the values of secrets: a keychain, an environment, a login.
///
/// A request with a ``RetryPolicy/deadline`` waits for it no longer than that allows: the task that asks is canceled then, and
/// what it brings later is dropped.
public protocol CredentialProvider: Sendable {
    /// On whose behalf a request is sent that says nothing itself, such as `"user-42"`; `nil` where it is nobody's in
    /// particular. Asked before the request's identity is computed, never on the caller's actor: what this sends and waits for
    /// through the same engine has to name its own. Asked again before a job of the queue leaves, which has its place on the
    /// wire then: answer that from memory, or send through another engine.
    func identity(for request: Request) async throws -> String?

    /// The value of a named secret; `nil` where there is none. Asked before a request gets in line for the wire, again
    /// where it has waited there, and after secrets were made anew: more often than requests are sent, so answer from
    /// memory. Send what this needs through another engine, or the two may wait for each other.
    func secret(_ name: String, for identity: String?) async throws -> String?
}

extension CredentialProvider {
    public func identity(for request: Request) async throws -> String? { nil }
}

/// A provider that can make secrets anew when a server no longer takes them (status 401), such as an access token from a
/// refresh token.
public protocol RefreshableCredentialProvider: CredentialProvider {
    /// Makes secrets anew; ``CredentialProvider/secret(_:for:)`` is asked for them after it.
    ///
    /// Called once for all requests that wait for a secret, 5 times in 30 seconds at most for each, and with no place on
    /// the wire: it may send through the same engine. What it sends itself with one of these secrets gets its 401 as the
    /// answer; what it enqueues must not name them, and would wait for itself.
    ///
    /// - Throws: whatever keeps it from it; the requests then fail with `noCredential`.
    func refreshSecrets(_ names: Set<String>, for identity: String?) async throws
}
