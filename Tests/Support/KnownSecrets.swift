package import Diamond
import DiamondSQLite

/// A credential provider with a table of secrets, and an identity that changes.
package final class KnownSecrets: CredentialProvider {
    private let table: [String: String]
    private let signedIn: Guarded<String?>

    package init(_ table: [String: String] = [:], identity: String? = nil) {
        self.table = table
        signedIn = Guarded(identity)
    }

    package func signIn(_ identity: String?) { signedIn.withLock { $0 = identity } }

    package func identity(for request: Request) async throws -> String? { signedIn.withLock { $0 } }

    /// Returns the secret `IDENTITY/NAME` of an identity, or `NAME` where there is none.
    package func secret(_ name: String, for identity: String?) async throws -> String? {
        identity.flatMap { table["\($0)/\(name)"] } ?? table[name]
    }
}
