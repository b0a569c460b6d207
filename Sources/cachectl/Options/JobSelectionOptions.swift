#if Tools
import ArgumentParser
import Diamond

/// The selection of jobs for a command: ids, a filter, or all.
struct JobSelectionOptions: ParsableArguments {
    @Argument(help: ArgumentHelp("The ids of jobs.", valueName: "ID"))
    var ids: [Int64] = []

    @OptionGroup var filter: JobFilterOptions

    @Flag(help: "All jobs that the command applies to.")
    var all = false

    @Flag(help: "Print which jobs would change, and change nothing.")
    var dryRun = false

    /// The number of given selections: ids, filter, all.
    var selectionCount: Int { (ids.isEmpty ? 0 : 1) + (filter.isEmpty ? 0 : 1) + (all ? 1 : 0) }

    func check() throws {
        guard selectionCount > 0 else {
            throw ValidationError("say which jobs: give ids, options such as --state, or --all")
        }
        guard selectionCount == 1 else {
            throw ValidationError("give only one of ids, options such as --state, or --all")
        }
    }

    /// Applies an action to the selected jobs and prints the result.
    func apply(_ action: JobAction, in place: StoreOptions) async throws {
        let queue = try place.openQueue()
        let result =
            try await ids.isEmpty
            ? queue.apply(action, to: filter.filter, isDryRun: dryRun)
            : queue.apply(action, to: ids, isDryRun: dryRun)
        ActionResult(of: action, result: result, counts: try queue.counts(), dryRun: dryRun).show(in: place)
        for refusal in result.refusals { Output.note("cachectl: \(refusal.error.message)") }
        if !result.refusals.isEmpty { throw Failure.wrongState }
    }
}

/// The result of an action on jobs, as JSON and as text.
private struct ActionResult: Encodable {
    struct Refusal: Encodable {
        var id: Int64
        var reason: String
    }

    var verb: String
    var dryRun: Bool
    var jobs: [Int64]
    var refused: [Refusal]
    var counts: CountsForm

    init(of action: JobAction, result: ReplayQueue.BulkResult, counts: [ReplayState: Int], dryRun: Bool) {
        verb = action.rawValue
        self.dryRun = dryRun
        jobs = result.done
        refused = result.refusals.map { Refusal(id: $0.id, reason: $0.error.message) }
        self.counts = CountsForm(counts)
    }

    func show(in place: StoreOptions) {
        guard !place.json else { return Output.json(self) }
        let which = dryRun && !jobs.isEmpty ? ": \(Quantity.numbers(jobs))" : ""
        Output.line("\(dryRun ? "would \(verb)" : done) \(Quantity.jobs(jobs.count))\(which)")
        Output.line(counts.text)
    }

    private static let participles = ["retry": "retried", "hold": "held", "redrive": "redriven"]

    private var done: String { Self.participles[verb] ?? (verb.hasSuffix("e") ? "\(verb)d" : "\(verb)ed") }
}
#endif
