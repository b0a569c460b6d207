#if Tools
import ArgumentParser
import Diamond
import Foundation

struct QueueList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists jobs in the order in which they were added, with counts and holds.",
        discussion: """
            TRIES is the number of failed attempts after which the job was to be sent again, and their limit. AGE is the time since the job was added. NEXT \
            says when the job can be sent, if the queue is not held: now, the time until then, or behind if other jobs \
            of its ordering key come first. It is - for a job that is neither ready nor waiting. The reason \
            'awaitingID of 12' says that the job needs the id of the object that job 12 creates, and \
            'creationFailed of 12' that job 12 is dead or was discarded. If there are more jobs, the id for --after is \
            printed below the table.

            EXAMPLE
              cachectl queue list --state needsReview
            """
    )

    @OptionGroup var place: QueueOptions
    @OptionGroup var filter: JobFilterOptions

    @Option(
        help: ArgumentHelp("Maximum number of jobs (default: 50).", valueName: "N"), transform: Limit.init(argument:))
    var limit = Limit(50)

    @Option(help: ArgumentHelp("Start after the job with this id.", valueName: "ID"))
    var after: Int64 = 0

    func run() async throws {
        guard let queue = try await place.findQueue() else { return show([], holds: [], counts: CountsForm([:])) }
        let jobs = try filter.filter.jobs(in: queue, after: after, limit: limit.oneMore)
        let holds = try queue.holds().map { HoldForm($0) }
        show(
            Array(jobs.prefix(limit.count)), isMore: jobs.count > limit.count, holds: holds,
            counts: CountsForm(try queue.counts()))
    }

    private func show(_ jobs: [ReplayJob], isMore: Bool = false, holds: [HoldForm], counts: CountsForm) {
        let last = isMore ? jobs.last?.id : nil
        guard !place.json else {
            return Output.json(
                ["counts": counts, "holds": holds, "jobs": jobs.map(\.form), "after": last] as JSONObject)
        }
        Output.line(counts.text)
        for hold in holds { Output.line(hold.line.printable) }
        guard !jobs.isEmpty else {
            return Output.note(filter.isEmpty ? "nothing queued" : "no job matches")
        }
        Output.line("")
        Output.table(JobRow.table(of: jobs))
        if let last { Output.note("there is more: --after \(last)") }
    }
}
#endif
