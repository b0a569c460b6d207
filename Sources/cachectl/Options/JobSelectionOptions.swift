#if Tools
import ArgumentParser
import Diamond

/// The jobs that something is done to: by their ids, or all that are meant.
struct JobSelectionOptions: ParsableArguments {
    @Argument(help: ArgumentHelp("Jobs by their ids.", valueName: "ID"))
    var ids: [Int64] = []

    @OptionGroup var filter: JobFilterOptions

    @Flag(help: "Every job that the command is for.")
    var all = false

    @Flag(help: "Say which jobs it would be, and change nothing.")
    var dryRun = false

    /// The number of ways to select that are used.
    var ways: Int { (ids.isEmpty ? 0 : 1) + (filter.isEmpty ? 0 : 1) + (all ? 1 : 0) }

    func check() throws {
        guard ways > 0 else { throw ValidationError("say which jobs: give ids, options such as --state, or --all") }
        guard ways == 1 else { throw ValidationError("say which jobs in one way: ids, options, or --all") }
    }

    /// Does it, and tells what has come of it.
    func apply(_ action: JobAction, in place: PlaceOptions) async throws {
        let queue = try place.openQueue()
        let sweep: ReplayQueue.BulkResult
        let counts: [ReplayState: Int]
        do throws(ReplayError) {
            if ids.isEmpty {
                sweep = try await queue.apply(action, to: filter.filter, isDryRun: dryRun)
            } else {
                sweep = try await queue.apply(action, to: ids, isDryRun: dryRun)
            }
            counts = try queue.counts()
        } catch {
            throw Failure.report(error)
        }
        SweepForm(action, sweep, counts, dryRun: dryRun).show(place)
        for refusal in sweep.refusals { Output.note("cachectl: \(refusal.error.message)") }
        if !sweep.refusals.isEmpty { throw Failure.wrongState }
    }
}

/// The result of an action on jobs: the form of `--json`, and its lines for people.
private struct SweepForm: Encodable {
    struct Refusal: Encodable {
        var id: Int64
        var reason: String
    }

    var verb: String
    var dryRun: Bool
    var jobs: [Int64]
    var refused: [Refusal]
    var counts: CountsForm

    init(_ action: JobAction, _ sweep: ReplayQueue.BulkResult, _ counts: [ReplayState: Int], dryRun: Bool) {
        (verb, self.dryRun, jobs) = (action.rawValue, dryRun, sweep.done)
        refused = sweep.refusals.map { Refusal(id: $0.id, reason: $0.error.message) }
        self.counts = CountsForm(counts)
    }

    func show(_ place: PlaceOptions) {
        guard !place.json else { return Output.json(self) }
        let which = dryRun && !jobs.isEmpty ? ": \(Quantity.numbers(jobs))" : ""
        Output.line("\(dryRun ? "would \(verb)" : done) \(Quantity.jobs(jobs.count))\(which)")
        Output.line(counts.text)
    }

    private static let participles = ["retry": "retried", "hold": "held", "redrive": "redriven"]

    private var done: String { Self.participles[verb] ?? (verb.hasSuffix("e") ? "\(verb)d" : "\(verb)ed") }
}
#endif
