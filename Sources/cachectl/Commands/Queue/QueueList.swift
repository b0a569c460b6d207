#if Tools
import ArgumentParser
import Diamond
import Foundation

struct QueueList: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists jobs in the order in which they were added, with counts and holds.",
        discussion: """
            TRIES is the number of counted attempts and their limit. AGE is the time since the job was added. NEXT \
            says when the job can be sent, if the queue is not held: now, the time until then, or behind if other jobs \
            of its ordering key come first. It is - for a job that is neither ready nor waiting. The reason \
            'awaitingID of 12' says that the job needs the id of the object that job 12 creates, and \
            'creationFailed of 12' that job 12 is dead or was discarded. If there are more jobs, the id for --after is printed below the table.

            EXAMPLE
              cachectl queue list --state needsReview
            """
    )

    @OptionGroup var place: StoreOptions
    @OptionGroup var filter: JobFilterOptions

    @Option(
        help: ArgumentHelp("Maximum number of jobs (default: 50).", valueName: "N"), transform: Limit.init(argument:))
    var limit = Limit(50)

    @Option(help: ArgumentHelp("Start after the job with this id.", valueName: "ID"))
    var after: Int64 = 0

    func run() throws {
        guard let queue = try place.findQueue() else { return show(QueueView()) }
        let jobs = try queue.jobs(filter.filter, after: after, limit: limit.oneMore)
        show(
            QueueView(
                counts: try queue.counts(),
                holds: try queue.holds().map { HoldForm($0.hold, reason: $0.reason, since: $0.since) },
                jobs: Array(jobs.prefix(limit.count)), isMore: jobs.count > limit.count))
    }

    private func show(_ view: QueueView) {
        guard !place.json else { return Output.json(QueueForm(view)) }
        Output.line(CountsForm(view.counts).text)
        for hold in view.holds { Output.line(hold.line.printable) }
        guard !view.jobs.isEmpty else {
            return Output.note(filter.isEmpty ? "nothing queued" : "no job matches")
        }
        let now = Date()
        var table = JobRow.table
        table.rows = view.jobs.map { JobRow($0, now: now).cells }
        Output.line("")
        Output.table(table)
        if view.isMore, let last = view.jobs.last { Output.note("there is more: --after \(last.id)") }
    }
}

/// The data of a list.
private struct QueueView {
    var counts: [ReplayState: Int] = [:]
    var holds: [HoldForm] = []
    var jobs: [ReplayJob] = []
    var isMore = false
}

/// The output of `queue list --json`.
private struct QueueForm: Encodable {
    var counts: CountsForm
    var holds: [HoldForm]
    var jobs: [JobForm]
    /// The value of `--after` for the next page. Absent on the last page.
    var after: Int64?

    init(_ view: QueueView) {
        counts = CountsForm(view.counts)
        holds = view.holds
        jobs = view.jobs.map(JobForm.init)
        after = view.isMore ? view.jobs.last?.id : nil
    }
}
#endif
