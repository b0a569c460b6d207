#if Tools
import Diamond
import Foundation

/// Secrets from the environment: `github-token` is in `GITHUB_TOKEN`.
struct EnvironmentSecrets: CredentialProvider {
    private let environment = ProcessInfo.processInfo.environment

    func secret(_ name: String, for identity: String?) async throws -> String? { environment[Self.variable(for: name)] }

    static func variable(for name: String) -> String {
        String(name.uppercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
    }
}
#endif
