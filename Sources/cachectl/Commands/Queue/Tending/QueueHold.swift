#if Tools
import ArgumentParser
import Diamond

struct QueueHold: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hold",
        abstract: "Sends nothing of an ordering key, an identity, a lane, the queue, or of jobs, until it is released.",
        discussion: """
            --key, --identity, --lane and --queue hold what there is, and what is added later, for every program that uses \
            the store. With --jobs, or with another option such as --state, and by ids, jobs are held one by one. What is \
            being sent comes to its end.
            """
    )

    @OptionGroup var place: PlaceOptions
    @OptionGroup var options: HoldOptions

    @Option(help: ArgumentHelp("Why, for people; with --key, --identity, --lane or --queue.", valueName: "TEXT"))
    var reason: String?

    func validate() throws {
        try options.check()
        guard reason == nil || options.hold != nil else {
            throw ValidationError("--reason is for --key, --identity, --lane and --queue: leave it out")
        }
    }

    func run() async throws { try await options.apply(.hold, reason: reason ?? "", in: place) }
}
#endif
