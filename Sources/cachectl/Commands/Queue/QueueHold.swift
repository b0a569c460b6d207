#if Tools
import ArgumentParser
import Diamond

struct QueueHold: AsyncParsableCommand, HoldCommand {
    static let configuration = CommandConfiguration(
        commandName: "hold",
        abstract: "Holds jobs, an ordering key, an identity, a lane or everything until it is released.",
        discussion: """
            --key, --identity, --lane, --whole and --engine also hold what is added later, in every program that uses \
            the store. --lane and --engine also hold requests outside the queue. The cache still answers. Ids, --jobs, \
            and other options such as --state hold only existing jobs. Running requests finish.

            EXAMPLE
              cachectl queue hold --lane images --reason 'server maintenance'
            """
    )

    @OptionGroup var place: QueueOptions
    @OptionGroup var filter: JobFilterOptions
    @OptionGroup var jobs: JobSelectionOptions
    @OptionGroup var options: HoldOptions

    @Option(
        help: ArgumentHelp(
            "A comment, shown by list. With --key, --identity, --lane, --whole and --engine.", valueName: "TEXT"))
    var reason: String?

    func validate() throws {
        try checkHold()
        guard reason == nil || hold != nil else {
            throw ValidationError("--reason is for --key, --identity, --lane, --whole and --engine: leave it out")
        }
    }

    func run() async throws { try await applyHold(.hold, reason: reason ?? "") }
}

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
