#if Tools
import ArgumentParser
import Diamond
import Foundation

struct QueueKeys: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys",
        abstract: "Lists the ordering keys that have jobs: who is first, in which state, and how many there are.",
        discussion: """
            One that is blocked goes on only when somebody does something: its first job is held, or is strict and dead or \
            in review. Those are released, redriven or discarded.
            """
    )

    @OptionGroup var place: PlaceOptions

    @Option(help: ArgumentHelp("Keys at most; 1000.", valueName: "N"), transform: Limit.init(argument:))
    var limit = Limit(1000)

    @Flag(help: "Only those that are blocked.")
    var blocked = false

    func run() throws {
        let queue = try place.findQueue()
        do throws(ReplayError) {
            let lines = try queue?.keys(limit: limit.oneMore, onlyBlocked: blocked) ?? []
            show(lines.prefix(limit.count).map { LineForm($0.head, $0.count) })
            if lines.count > limit.count { Output.note("there is more: give a higher --limit") }
        } catch {
            throw Failure.report(error)
        }
    }

    private func show(_ lines: [LineForm]) {
        guard !place.json else { return Output.json(lines) }
        guard !lines.isEmpty else { return Output.note(blocked ? "no key is blocked" : "no key has jobs") }
        var table = Table(
            header: ["KEY", "JOBS", "", "HEAD", "STATE", "REASON", "NEXT", "METHOD", "URL"],
            alignments: [.left, .right, .left, .right, .left, .left, .right, .left, .left])
        let now = Date()
        table.rows = lines.map { $0.cells(now) }
        Output.table(table)
    }
}

/// The line of an ordering key.
private struct LineForm: Encodable {
    private enum CodingKeys: CodingKey { case key, jobs, isBlocked, head }

    var key: String
    var jobs: Int
    var isBlocked: Bool
    var head: JobForm
    private let job: ReplayJob

    init(_ job: ReplayJob, _ count: Int) {
        (key, jobs, head, self.job) = (job.orderingKey ?? "", count, JobForm(job), job)
        isBlocked = [.held, .dead, .needsReview].contains(job.state)
    }

    func cells(_ now: Date) -> [String] {
        [
            JobRow.short(key), String(jobs), isBlocked ? "blocked" : "", String(job.id), job.state.description,
            job.reason.description, JobRow.next(job, now), job.method, job.url,
        ]
    }
}
#endif
