#if Tools
import ArgumentParser
import Diamond
import Foundation

/// Which jobs are meant: those that are all that is said.
struct JobFilterOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Jobs in a state.", valueName: "STATE"))
    var state: ReplayState?

    @Option(help: ArgumentHelp("Jobs with an ordering key.", valueName: "KEY"))
    var key: String?

    @Option(help: ArgumentHelp("Jobs on behalf of an identity.", valueName: "NAME"))
    var identity: String?

    @Option(help: ArgumentHelp("Jobs for a host, with its port where the URL names one.", valueName: "HOST"))
    var host: String?

    @Option(help: ArgumentHelp("Jobs whose requests have the tag.", valueName: "NAME"))
    var tag: String?

    @Option(help: ArgumentHelp("Jobs that were added longer ago: 90s, 15m, 36h, 7d.", valueName: "AGE"))
    var olderThan: Age?

    func validate() throws {
        guard ![key, identity, host, tag].contains("") else {
            throw ValidationError("an empty name selects nothing: give it, or leave its option out")
        }
    }

    var isEmpty: Bool { state == nil && olderThan == nil && [key, identity, host, tag].allSatisfy { $0 == nil } }

    var filter: ReplayFilter {
        ReplayFilter(
            state: state, orderingKey: key, identity: identity, host: host, tag: tag,
            enqueuedBefore: olderThan.map { Date(timeIntervalSinceNow: -Double($0.milliseconds) / 1000) })
    }
}
#endif
