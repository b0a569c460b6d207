#if Tools
import Diamond
import Foundation

/// The differences of a job's stored request and the one that would be sent now.
struct JobDifference {
    let lines: LineDifference
    /// The names of the secrets that the request needs.
    let secrets: [String]
    /// The names of the needed secrets whose variables are not set.
    let missing: [String]

    /// - Parameters:
    ///   - stored: The request of the job.
    ///   - configuration: The configuration of the engine that would send it.
    init(of stored: Request, sentWith configuration: Engine.Configuration) async throws {
        let sent = try await configuration.resolve(stored)
        lines = LineDifference(from: Self.lines(of: stored), to: Self.lines(of: sent))
        secrets = sent.credentials.compactMap(\.secret.name)
        var missing: [String] = []
        for name in secrets where try await EnvironmentSecrets().secret(name, for: sent.identity) == nil {
            missing.append(name)
        }
        self.missing = missing
    }

    /// Returns a line for each header, parameter and credential, and several for a long value.
    private static func lines(of request: Request) -> [String] {
        let json = Data(Output.text(of: request).utf8)
        let members = (try? JSONDecoder().decode([String: JSONValue].self, from: json)) ?? [:]
        return members.sorted { $0.key < $1.key }.flatMap { name, value in
            if case .array(let elements) = value { return elements.map { "\(name): \(Output.text(of: $0))" } }
            return "\(name): \(Output.text(of: value, isPretty: true))".split(separator: "\n").map(String.init)
        }
    }

    /// Whether the request is sent as it is stored, and all its secrets are set.
    var isEmpty: Bool { lines.isEmpty && missing.isEmpty }

    var form: JSONObject { lines.form.adding(["secrets": secrets, "missingSecrets": missing]) }

    /// `secret api-key: API_KEY is not set`.
    var secretLines: [String] {
        secrets.map { name in
            "secret \(name): \(EnvironmentSecrets.variable(for: name)) is \(missing.contains(name) ? "not set" : "set")"
        }
    }
}
#endif
