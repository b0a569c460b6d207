#if Tools
import ArgumentParser
import Diamond

struct QueueRelease: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "release",
        abstract: "Lets what is held be sent again: a key, an identity, a lane, the queue, jobs, or all.",
        discussion: """
            Says what as hold does. A job that is held in more than one way stays so until each has ended. With an identity, \
            its jobs are released that have waited for it to sign in.
            """
    )

    @OptionGroup var place: PlaceOptions
    @OptionGroup var options: HoldOptions

    func validate() throws { try options.check() }

    func run() async throws { try await options.apply(.release, in: place) }
}
#endif
