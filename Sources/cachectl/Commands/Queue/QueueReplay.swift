#if Tools
import ArgumentParser
import Diamond
import Foundation

struct QueueReplay: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Tells what would be sent now, in which order, and what waits until when.",
        discussion: """
            Of each ordering key only the first job may be sent: those behind it follow when it is done.
            """
    )

    @OptionGroup var place: PlaceOptions

    @Flag(help: "Say what would be sent, and send nothing.")
    var dryRun = false

    @Option(help: ArgumentHelp("Jobs at most, of those to be sent as of those that wait.", valueName: "N"))
    var limit = 50

    func validate() throws {
        guard limit >= 0 else { throw ValidationError("--limit is not negative") }
        guard dryRun else { throw ValidationError("say --dry-run: sending is done by the programs that use the store") }
    }

    func run() async throws {
        let queue = try place.openQueue()
        do throws(ReplayError) {
            let plan = ReplayPlan(
                transitions: try await queue.rehearsal(limit: limit), counts: try queue.counts(),
                waiting: try queue.waiting(limit: limit), isHeld: try queue.holds().contains { $0.hold == .queue })
            try show(plan, of: queue)
        } catch {
            throw Failure.report(error)
        }
    }

    private func show(_ plan: ReplayPlan, of queue: ReplayQueue) throws(ReplayError) {
        var jobs: [ReplayJob] = []
        for id in plan.sent { if let job = try queue.job(id) { jobs.append(job) } }
        guard !place.json else { return Output.json(PlanForm(plan, jobs)) }
        let now = Date()
        for line in plan.lines { Output.line(line) }
        for (title, part) in [("SENT NOW", jobs), ("WAITING", plan.later)] where !part.isEmpty {
            Output.line("\n\(title)")
            var table = JobRow.table
            table.rows = part.map { JobRow($0, now: now).cells }
            Output.table(table)
        }
    }
}

/// What a replayer would do now.
private struct ReplayPlan {
    var transitions: [ReplayTransition]
    var counts: [ReplayState: Int]
    var waiting: [ReplayJob]
    var isHeld: Bool

    /// In the order in which they are sent.
    var sent: [Int64] { ids(.claim) }
    var expired: [Int64] { ids(.expire) }
    /// What nobody may send without having looked into it.
    var reviewed: [Int64] { ids(.fail) }
    /// Whose time has not come.
    var later: [ReplayJob] { waiting.filter { !gone.contains($0.id) } }

    private var gone: Set<Int64> { Set(transitions.map(\.jobID)) }

    /// Those that are ready and are not their lines' first, or beyond the limit.
    var behind: Int {
        let steps = Dictionary(grouping: transitions, by: \.jobID).compactMap { _, steps -> Int? in
            guard let first = steps.first?.from, let last = steps.last?.to else { return nil }
            return (last == .ready ? 1 : 0) - (first == .ready ? 1 : 0)
        }
        return (counts[.ready] ?? 0) + steps.reduce(0, +)
    }

    private func ids(_ verb: ReplayTransition.Verb) -> [Int64] { transitions.filter { $0.verb == verb }.map(\.jobID) }

    var lines: [String] {
        let held = isHeld ? ["the queue is held: nothing is sent until 'cachectl queue release --queue'"] : []
        let notes = [
            (expired, "would end as expired"), (reviewed, "would go to review"),
        ].filter { !$0.0.isEmpty }.map { "\($1): \(Quantity.numbers($0))" }
        let rest = behind > 0 ? [", \(behind) behind"] : []
        return held + ["would send \(Quantity.jobs(sent.count)) now\(rest.joined())"] + notes
    }
}

/// The form of `queue replay --dry-run --json`.
private struct PlanForm: Encodable {
    var isHeld: Bool
    var sent: [JobForm]
    var behind: Int
    var waiting: [JobForm]
    var expired: [Int64]
    var reviewed: [Int64]

    init(_ plan: ReplayPlan, _ jobs: [ReplayJob]) {
        (isHeld, sent, behind) = (plan.isHeld, jobs.map(JobForm.init), plan.behind)
        (waiting, expired, reviewed) = (plan.later.map(JobForm.init), plan.expired, plan.reviewed)
    }
}
#endif
