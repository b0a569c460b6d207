#if Tools
import ArgumentParser
import Diamond

struct QueueRelease: AsyncParsableCommand {
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
    @OptionGroup var options: HoldOptions

    func validate() throws { try options.check() }

    func run() async throws { try await options.apply(.release, in: place) }
}
#endif
