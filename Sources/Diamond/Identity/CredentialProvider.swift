/// Knows on whose behalf requests are sent, and the values of secrets: a keychain, an environment, a login.
public protocol CredentialProvider: Sendable {
    /// On whose behalf a request is sent that says nothing itself, such as `"user-42"`; `nil` where it is nobody's in
    /// particular. Asked before the request's identity is computed, on the caller's executor.
    func identity(for request: Request) async throws -> String?

    /// The value of a named secret; `nil` where there is none. Asked each time a request is about to be sent,
    /// while that holds its place on the wire: send what this needs through another engine, or the two may wait for each
    /// other.
    func secret(_ name: String, for identity: String?) async throws -> String?
}

extension CredentialProvider {
    public func identity(for request: Request) async throws -> String? { nil }
}
