#if Tools
import ArgumentParser
import Diamond

struct QueueHold: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hold",
        abstract: "Sends nothing of a key, an identity, a lane, the queue, jobs, or at all, until it is released.",
        discussion: """
            --key, --identity, --lane, --queue and --engine hold what there is, and what is added later, for every program \
            that uses the store. --lane and --engine are for what is sent without the queue, too: programs that run answer \
            from the cache, and send nothing. With --jobs, or with another option such as --state, and by ids, jobs are \
            held one by one. What is being sent comes to its end.
            """
    )

    @OptionGroup var place: PlaceOptions
    @OptionGroup var options: HoldOptions

    @Option(help: ArgumentHelp("Why, for people; for what has a name, --queue and --engine.", valueName: "TEXT"))
    var reason: String?

    func validate() throws {
        try options.check()
        guard reason == nil || options.hold != nil else {
            throw ValidationError("--reason is for --key, --identity, --lane, --queue and --engine: leave it out")
        }
    }

    func run() async throws { try await options.apply(.hold, reason: reason ?? "", in: place) }
}
#endif
