#if Tools
import Diamond
import Foundation

/// Reads secrets from the environment: `github-token` from `GITHUB_TOKEN`.
struct EnvironmentSecrets: CredentialProvider {
    private let environment = ProcessInfo.processInfo.environment

    /// Returns the secret in a variable. An empty variable counts as unset, because scripts pass unset secrets that
    /// way.
    func secret(_ name: String, for identity: String?) async throws -> String? {
        environment[Self.variable(for: name)].flatMap { $0.isEmpty ? nil : $0 }
    }

    static func variable(for name: String) -> String {
        String(name.uppercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
    }
}
#endif
