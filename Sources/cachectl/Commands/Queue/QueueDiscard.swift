#if Tools
import ArgumentParser
import Diamond

struct QueueDiscard: AsyncParsableCommand, JobCommand {
    static let configuration = CommandConfiguration(
        commandName: "discard",
        abstract: "Marks jobs as done without sending them.",
        discussion: """
            Running jobs cannot be discarded. Options and --all skip running and done jobs. The id of such a job is an \
            error.

            EXAMPLE
              cachectl queue discard --state dead --error 'status 404' --yes
            """
    )

    @OptionGroup var place: QueueOptions
    @OptionGroup var filter: JobFilterOptions
    @OptionGroup var jobs: JobSelectionOptions

    func validate() throws { try checkSelection() }

    func run() async throws { try await apply(.discard) }
}
#endif
