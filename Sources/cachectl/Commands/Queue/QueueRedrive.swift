#if Tools
import ArgumentParser
import Diamond

struct QueueRedrive: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "redrive",
        abstract: "Makes dead jobs and jobs in review ready again; a program or 'queue replay' sends them.",
        discussion: """
            Jobs keep their order and their idempotency keys. Their attempts are counted from zero. Before you redrive \
            a job in review, make sure that sending it a second time does no harm.

            EXAMPLE
              cachectl queue redrive 42
            """
    )

    @OptionGroup var place: QueueOptions
    @OptionGroup var jobs: JobSelectionOptions

    func validate() throws { try jobs.check() }

    func run() async throws { try await jobs.apply(.redrive, in: place) }
}
#endif
