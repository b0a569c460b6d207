#if Tools
import ArgumentParser
import Diamond

struct QueueRedrive: AsyncParsableCommand, JobCommand {
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
    @OptionGroup var filter: JobFilterOptions
    @OptionGroup var jobs: JobSelectionOptions

    func validate() throws { try checkSelection() }

    func run() async throws { try await apply(.redrive) }
}
#endif
