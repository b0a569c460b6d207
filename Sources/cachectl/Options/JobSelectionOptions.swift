#if Tools
import ArgumentParser
import Diamond

/// The selection of jobs for a command, beside ``JobFilterOptions``: ids, or all.
struct JobSelectionOptions: ParsableArguments {
    @Argument(help: ArgumentHelp("The ids of jobs.", valueName: "ID"))
    var ids: [Int64] = []

    @Flag(help: "All jobs that the command applies to.")
    var all = false

    @Flag(help: "Do not ask. Required for all jobs that match if nobody can be asked.")
    var yes = false

    @Flag(help: "Print which jobs would change, and change nothing.")
    var dryRun = false
}

/// A command that changes jobs.
protocol JobCommand {
    var place: QueueOptions { get }
    var filter: JobFilterOptions { get }
    var jobs: JobSelectionOptions { get }
}

extension JobCommand {
    /// The number of given selections: ids, filter, all.
    var selectionCount: Int { (jobs.ids.isEmpty ? 0 : 1) + (filter.isEmpty ? 0 : 1) + (jobs.all ? 1 : 0) }

    func checkSelection() throws {
        guard selectionCount > 0 else {
            throw ValidationError("say which jobs: give ids, options such as --state, or --all")
        }
        guard selectionCount == 1 else {
            throw ValidationError("give only one of ids, options such as --state, or --all")
        }
    }

    /// Applies an action to the selected jobs and prints the result.
    func apply(_ action: ReplayAction) async throws {
        let queue = try await place.openQueue()
        let result =
            try await jobs.ids.isEmpty
            ? applyToMatching(action, of: queue) : queue.apply(action, to: jobs.ids, isDryRun: jobs.dryRun)
        let refusals = try result.refusals.map { (refusal) throws(ReplayError) in
            try JobRefusal(refusal, of: action, queue: queue, options: place.optionText)
        }
        show(action, jobs: result.done, refusals: refusals, counts: CountsForm(try queue.counts()))
        for refusal in refusals { Output.note("cachectl: \(refusal.message)") }
        if !refusals.isEmpty { throw Failure.wrongState }
    }

    /// Counts the jobs that match, asks, and applies an action to these jobs.
    private func applyToMatching(
        _ action: ReplayAction, of queue: ReplayQueue
    ) async throws -> ReplayQueue.BulkResult {
        let bulk = JobBulk(action: action, filter: filter.filter)
        let found = try await bulk.preview(in: queue)
        guard !jobs.dryRun, !found.done.isEmpty else { return found }
        if !jobs.yes { try Confirmation.require(action.rawValue, count: found.done.count, isJSON: place.json) }
        return try await bulk.apply(to: found.done, in: queue)
    }

    private func show(
        _ action: ReplayAction, jobs ids: [ReplayJob.ID], refusals: [JobRefusal], counts: CountsForm
    ) {
        guard !place.json else {
            let form: JSONObject = [
                "verb": action.rawValue, "dryRun": jobs.dryRun, "jobs": ids, "refused": refusals.map(\.form),
                "counts": counts,
            ]
            return Output.json(form)
        }
        let which = jobs.dryRun && !ids.isEmpty ? ": \(Quantity.numbers(ids))" : ""
        let effect = jobs.dryRun ? "would \(action.rawValue)" : action.participle
        Output.line("\(effect) \(Quantity.jobs(ids.count))\(which)")
        Output.line(counts.text)
    }
}

extension ReplayAction {
    /// `retried`, for a message about jobs that the action has changed.
    var participle: String {
        ["retry": "retried", "hold": "held", "redrive": "redriven"][rawValue]
            ?? (rawValue.hasSuffix("e") ? "\(rawValue)d" : "\(rawValue)ed")
    }
}
#endif
