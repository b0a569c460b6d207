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
    func apply(_ action: ReplayAction, in place: QueueOptions) async throws {
        let queue = try await place.openQueue()
        let result =
            try await ids.isEmpty
            ? queue.apply(action, to: filter.filter, isDryRun: dryRun)
            : queue.apply(action, to: ids, isDryRun: dryRun)
        show(action, result: result, counts: CountsForm(try queue.counts()), in: place)
        for refusal in result.refusals { Output.note("cachectl: \(refusal.error.message)") }
        if !result.refusals.isEmpty { throw Failure.wrongState }
    }

    private func show(
        _ action: ReplayAction, result: ReplayQueue.BulkResult, counts: CountsForm, in place: QueueOptions
    ) {
        let refused: [JSONObject] = result.refusals.map { ["id": $0.id, "reason": $0.error.message] }
        guard !place.json else {
            let form: JSONObject = [
                "verb": action.rawValue, "dryRun": dryRun, "jobs": result.done, "refused": refused, "counts": counts,
            ]
            return Output.json(form)
        }
        let which = dryRun && !result.done.isEmpty ? ": \(Quantity.numbers(result.done))" : ""
        let effect = dryRun ? "would \(action.rawValue)" : action.participle
        Output.line("\(effect) \(Quantity.jobs(result.done.count))\(which)")
        Output.line(counts.text)
    }
}

extension ReplayAction {
    fileprivate var participle: String {
        ["retry": "retried", "hold": "held", "redrive": "redriven"][rawValue]
            ?? (rawValue.hasSuffix("e") ? "\(rawValue)d" : "\(rawValue)ed")
    }
}
#endif
