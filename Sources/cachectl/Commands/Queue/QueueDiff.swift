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
        guard let stored = try queue.request(of: id) else { throw ReplayError.noJob(id) }
        let difference = try await JobDifference(of: stored, sentWith: store.configuration())
        show(difference)
        if !difference.isEmpty { throw Failure.different }
    }

    private func show(_ difference: JobDifference) {
        guard !store.json else { return Output.json(difference.form) }
        for line in difference.lines.lines(isNumbered: false) { Output.line(line) }
        for secret in difference.secretLines { Output.line(secret) }
        if difference.lines.isEmpty { Output.line("the same") }
    }
}
#endif
