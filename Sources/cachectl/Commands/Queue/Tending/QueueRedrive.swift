#if Tools
import ArgumentParser
import Diamond

struct QueueRedrive: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "redrive",
        abstract: "Sends jobs again that are dead or in review.",
        discussion: """
            They keep their places in their lines and their idempotency keys; their attempts are counted anew. Whoever \
            redrives what is in review has made sure that a second time does no harm.
            """
    )

    @OptionGroup var place: PlaceOptions
    @OptionGroup var jobs: JobSelectionOptions

    func validate() throws { try jobs.check() }

    func run() async throws { try await jobs.apply(.redrive, in: place) }
}
#endif
