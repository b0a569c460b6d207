#if Tools
import ArgumentParser
import Diamond

struct QueueRetry: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Sends jobs now that wait for their time.",
        discussion: "Those that are meant and do not wait are passed over; of one named by its id that is told."
    )

    @OptionGroup var place: PlaceOptions
    @OptionGroup var jobs: JobSelectionOptions

    func validate() throws { try jobs.check() }

    func run() async throws { try await jobs.apply(.retry, in: place) }
}
#endif
