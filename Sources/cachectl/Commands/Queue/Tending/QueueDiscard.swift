#if Tools
import ArgumentParser
import Diamond

struct QueueDiscard: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "discard",
        abstract: "Gives jobs up: they are done, without being sent.",
        discussion: """
            What is being sent cannot be given up. Those that are meant and are running or done are passed over; of one \
            named by its id that is told.
            """
    )

    @OptionGroup var place: PlaceOptions
    @OptionGroup var jobs: JobSelectionOptions

    func validate() throws { try jobs.check() }

    func run() async throws { try await jobs.apply(.discard, in: place) }
}
#endif
