#if Tools
import ArgumentParser
import Diamond

struct QueueRelease: AsyncParsableCommand, HoldCommand {
    static let configuration = CommandConfiguration(
        commandName: "release",
        abstract: "Ends a hold.",
        discussion: """
            Takes the options of hold, except --reason. A job with several holds stays held until all have ended. \
            Releasing an identity also releases its jobs that wait for it to sign in.

            EXAMPLE
              cachectl queue release --lane images
            """
    )

    @OptionGroup var place: QueueOptions
    @OptionGroup var filter: JobFilterOptions
    @OptionGroup var jobs: JobSelectionOptions
    @OptionGroup var options: HoldOptions

    func validate() throws { try checkHold() }

    func run() async throws { try await applyHold(.release) }
}
#endif
