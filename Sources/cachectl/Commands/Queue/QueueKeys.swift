#if Tools
import ArgumentParser
import Diamond
import Foundation

struct QueueKeys: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys",
        abstract: "Lists the ordering keys that have jobs, with the first job of each.",
        discussion: """
            A key is blocked if its first job is held. In strict order it is also blocked if that job is dead or in \
            review. To unblock it, release, redrive or discard the job.

            EXAMPLE
              cachectl queue keys --blocked
            """
    )

    @OptionGroup var place: QueueOptions

    @Option(
        help: ArgumentHelp("Maximum number of keys (default: 1000).", valueName: "N"), transform: Limit.init(argument:))
    var limit = Limit(1000)

    @Flag(help: "Only blocked keys.")
    var blocked = false

    func run() async throws {
        let queue = try await place.findQueue()
        let lines = try queue?.keys(limit: limit.oneMore, onlyBlocked: blocked) ?? []
        show(lines.prefix(limit.count).map { OrderingKeyRow(head: $0.head, jobs: $0.count) })
        if lines.count > limit.count { Output.note("there is more: give a higher --limit") }
    }

    private func show(_ lines: [OrderingKeyRow]) {
        guard !place.json else { return Output.json(lines.map(\.form)) }
        guard !lines.isEmpty else { return Output.note(blocked ? "no key is blocked" : "no key has jobs") }
        let now = Date()
        Output.table(
            Table(
                [
                    "KEY": .left, "JOBS": .right, "": .left, "HEAD": .right, "STATE": .left, "REASON": .left,
                    "NEXT": .right, "METHOD": .left, "URL": .left,
                ], rows: lines.map { $0.cells(now: now) }))
    }
}

/// An ordering key, with the first of its jobs.
private struct OrderingKeyRow {
    let head: ReplayJob
    let jobs: Int

    private var isBlocked: Bool { [.held, .dead, .needsReview].contains(head.state) }

    var form: JSONObject {
        ["key": head.orderingKey ?? "", "jobs": jobs, "isBlocked": isBlocked, "head": head.form]
    }

    func cells(now: Date) -> [String] {
        [
            JobRow.shortened(head.orderingKey ?? ""), String(jobs), isBlocked ? "blocked" : "", String(head.id),
            head.state.description, head.reason.description, JobRow.next(head, now: now), head.method, head.url,
        ]
    }
}
#endif
