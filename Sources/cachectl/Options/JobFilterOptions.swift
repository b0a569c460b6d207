#if Tools
import ArgumentParser
import Diamond
import Foundation

/// The options that filter jobs. A job must match all of them.
struct JobFilterOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Only jobs in this state; give it again for several states.", valueName: "STATE"))
    var state: [ReplayState] = []

    @Option(help: ArgumentHelp("Only jobs with this ordering key.", valueName: "KEY"))
    var key: String?

    @Option(help: ArgumentHelp("Only jobs of this identity.", valueName: "NAME"))
    var identity: String?

    @Option(help: ArgumentHelp("Only jobs for this host, with its port if the URL has one.", valueName: "HOST"))
    var host: String?

    @Option(help: ArgumentHelp("Only jobs whose requests have this tag.", valueName: "NAME"))
    var tag: String?

    @Option(help: ArgumentHelp("Only jobs added longer ago than this, such as 90s, 15m, 36h or 7d.", valueName: "AGE"))
    var olderThan: Age?

    @Option(
        help: ArgumentHelp(
            "Only jobs whose URLs contain this text, in any case. * stands for any characters.", valueName: "TEXT"))
    var match: TextPattern?

    @Option(
        help: ArgumentHelp(
            "Only jobs whose last failed attempt has this text in its code or message, such as 'status 503'.",
            valueName: "TEXT"))
    var error: TextPattern?

    func validate() throws {
        guard ![key, identity, host, tag].contains("") else {
            throw ValidationError("an empty name selects nothing: give a name, or leave the option out")
        }
    }

    var isEmpty: Bool {
        state.isEmpty && olderThan == nil && !filter.needsTest && [key, identity, host, tag].allSatisfy { $0 == nil }
    }

    var filter: JobFilter { JobFilter(fields: fields, match: match, error: error) }

    private var fields: ReplayFilter {
        ReplayFilter(
            states: Set(state), orderingKey: key, identity: identity, host: host, tag: tag,
            enqueuedBefore: olderThan.map { Date(timeIntervalSinceNow: -Double($0.milliseconds) / 1000) },
            includesSignedOut: true)
    }
}
#endif
