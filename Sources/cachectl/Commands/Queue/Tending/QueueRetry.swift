#if Tools
import ArgumentParser
import Diamond

struct QueueRetry: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Sends waiting jobs now.",
        discussion: """
            With options or --all, jobs that do not wait are skipped; for an id, that is an error.

            EXAMPLE
              cachectl queue retry --host api.example.com
            """
    )

    @OptionGroup var place: PlaceOptions
    @OptionGroup var jobs: JobSelectionOptions

    func validate() throws { try jobs.check() }

    func run() async throws { try await jobs.apply(.retry, in: place) }
}
#endif
