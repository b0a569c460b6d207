#if Tools
import ArgumentParser

struct Downloads: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "downloads",
        abstract: "Lists and removes the received parts of interrupted downloads.",
        discussion: """
            A part is a hidden file in the directory of the download's target. The next download of the same request \
            to the same path continues it, for a week.

            EXAMPLE
              cachectl downloads
            """,
        subcommands: [DownloadsList.self, DownloadsRemove.self],
        defaultSubcommand: DownloadsList.self
    )
}
#endif
