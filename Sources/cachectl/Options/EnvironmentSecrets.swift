#if Tools
import Diamond
import Foundation

/// Secrets from the environment: `github-token` is in `GITHUB_TOKEN`.
struct EnvironmentSecrets: CredentialProvider {
    private let environment = ProcessInfo.processInfo.environment

    /// An empty one is none: so do those who run scripts pass on what they have not.
    func secret(_ name: String, for identity: String?) async throws -> String? {
        environment[Self.variable(for: name)].flatMap { $0.isEmpty ? nil : $0 }
    }

    static func variable(for name: String) -> String {
        String(name.uppercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
    }
}
#endif
