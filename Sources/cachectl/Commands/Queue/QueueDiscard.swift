#if Tools
import ArgumentParser
import Diamond

struct QueueDiscard: AsyncParsableCommand {
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
    @OptionGroup var jobs: JobSelectionOptions

    func validate() throws { try jobs.check() }

    func run() async throws { try await jobs.apply(.discard, in: place) }
}
#endif
