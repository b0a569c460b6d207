#if Tools
import ArgumentParser
import Diamond

struct QueueRetry: AsyncParsableCommand, JobCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Makes waiting jobs ready, so that a running program or 'queue replay' sends them now.",
        discussion: """
            Options and --all skip jobs that are neither waiting nor ready. The id of such a job is an error.

            EXAMPLE
              cachectl queue retry --match /orders/ --error 'status 503'
            """
    )

    @OptionGroup var place: QueueOptions
    @OptionGroup var filter: JobFilterOptions
    @OptionGroup var jobs: JobSelectionOptions

    func validate() throws { try checkSelection() }

    func run() async throws { try await apply(.retry) }
}
#endif
