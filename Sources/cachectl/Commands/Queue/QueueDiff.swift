#if Tools
import ArgumentParser
import Diamond

struct QueueDiff: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Prints the differences of a job's stored request and what 'queue replay' would send now.",
        discussion: """
            - is only in the stored request, + only in the request to send. Says of each secret that the request names \
            whether its variable is set, and prints no value. Exits with 1 if they differ, or if a variable is not set.

            EXAMPLE
              cachectl queue diff 42
            """
    )

    @OptionGroup var store: StoreOptions
    @OptionGroup var server: QueueServerOption

    @Argument(help: ArgumentHelp("The job's id.", valueName: "ID"))
    var id: Int64

    func run() async throws {
        let queue = try await server.place(besides: store.place).queue(store.sealing.seal())
        guard let stored = try queue.request(of: id) else {
            throw ReplayError(.noJob, "there is no job \(id): see 'cachectl queue list'")
        }
        let sent = try await store.configuration().resolve(stored)
        let difference = LineDifference(from: Self.lines(of: stored), to: Self.lines(of: sent))
        let secrets = sent.credentials.compactMap(\.secret.name)
        var missing: [String] = []
        for name in secrets where try await EnvironmentSecrets().secret(name, for: sent.identity) == nil {
            missing.append(name)
        }
        show(difference, secrets: secrets, missing: missing)
        if !difference.isEmpty || !missing.isEmpty { throw Failure.different }
    }

    private static func lines(of request: Request) -> [String] {
        Output.text(of: request, isPretty: true).split(separator: "\n").map(String.init)
    }

    private func show(_ difference: LineDifference, secrets: [String], missing: [String]) {
        guard !store.json else {
            return Output.json(difference.form.adding(["secrets": secrets, "missingSecrets": missing]))
        }
        for line in difference.lines(isNumbered: false) { Output.line(line) }
        for name in secrets {
            let state = missing.contains(name) ? "not set" : "set"
            Output.line("secret \(name): \(EnvironmentSecrets.variable(for: name)) is \(state)")
        }
        if difference.isEmpty { Output.line("the same") }
    }
}
#endif
