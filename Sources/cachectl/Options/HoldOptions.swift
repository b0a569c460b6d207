#if Tools
import ArgumentParser
import Diamond

/// The options of `queue hold` and `queue release` that name a hold.
struct HoldOptions: ParsableArguments {
    @Flag(help: "Everything that programs send with this store: jobs and other requests.")
    var engine = false

    @Flag(help: "The whole queue.")
    var whole = false

    @Option(help: ArgumentHelp("A lane: its jobs, and its other requests.", valueName: "NAME"))
    var lane: String?

    @Flag(
        name: .customLong("jobs"),
        help: "With --key or --identity: select the existing jobs, not the key or identity itself.")
    var onlyJobs = false
}

/// `queue hold` or `queue release`, for a named hold or for jobs.
protocol HoldCommand: JobCommand {
    var options: HoldOptions { get }
}

extension HoldCommand {
    /// The named hold; `nil` if jobs are selected.
    var hold: ReplayHold? {
        if options.engine { return .engine }
        if options.whole { return .queue }
        if let lane = options.lane { return .lane(Lane(lane)) }
        guard !options.onlyJobs, jobs.ids.isEmpty, !jobs.all, hasOnlyName else { return nil }
        return filter.key.map { .key($0) } ?? filter.identity.map { .identity($0) }
    }

    private var hasOnlyName: Bool {
        filter.state.isEmpty && filter.host == nil && filter.tag == nil && filter.olderThan == nil
            && !filter.filter.needsTest
    }

    func checkHold() throws {
        let (engine, whole, lane) = (options.engine, options.whole, options.lane)
        guard lane != "" else { throw ValidationError("an empty name selects nothing: name the lane") }
        let names = (engine ? 1 : 0) + (whole ? 1 : 0) + (lane == nil ? 0 : 1)
        guard names > 0 else {
            guard hold == nil else {
                guard filter.key == nil || filter.identity == nil else {
                    throw ValidationError("give one of --key and --identity, or --jobs for the jobs that have both")
                }
                return
            }
            return try checkSelection()
        }
        guard names == 1, selectionCount == 0 else {
            throw ValidationError("give only one of --engine, --whole, --lane, --key, --identity, or jobs")
        }
        guard !options.onlyJobs else {
            throw ValidationError("--jobs is for options that select jobs, such as --key: leave it out")
        }
    }

    func applyHold(_ action: ReplayAction, reason: String = "") async throws {
        guard let hold else {
            try await apply(action)
            if action == .release, jobs.ids.isEmpty { try await noteHolds() }
            return
        }
        let queue = try await place.openQueue()
        let wasHeld = try queue.holds().contains { $0.hold == hold }
        let count = try await apply(action, to: hold, reason: reason, in: queue)
        show(
            action, hold: HoldForm(hold), isOfJobs: ![.queue, .engine].contains(hold), jobs: count,
            counts: CountsForm(try queue.counts()))
        if action == .release, !wasHeld, count == 0 {
            let command = "cachectl queue list\(place.optionText)"
            throw ReplayError(.noJob, "\(HoldForm(hold).title) was not held: see '\(command)'")
        }
    }

    /// Prints the holds that are still in effect. Releasing single jobs ends no named hold.
    private func noteHolds() async throws {
        let queue = try await place.openQueue()
        for active in try queue.holds() {
            Output.note(HoldForm(active).note(options: place.optionText))
        }
    }

    private func apply(
        _ action: ReplayAction,
        to hold: ReplayHold,
        reason: String,
        in queue: ReplayQueue
    ) async throws(ReplayError) -> Int {
        switch (action, jobs.dryRun) {
        case (.release, true): try await queue.end(hold, isDryRun: true)
        case (.release, false): try await queue.release(hold)
        case (_, true): try await queue.apply(hold, isDryRun: true)
        default: try await queue.hold(hold, reason: reason)
        }
    }

    private func show(
        _ action: ReplayAction, hold: HoldForm, isOfJobs: Bool, jobs count: Int, counts: CountsForm
    ) {
        let verb = action.rawValue
        guard !place.json else {
            return Output.json(
                ["verb": verb, "dryRun": jobs.dryRun, "hold": hold, "jobs": count, "counts": counts] as JSONObject)
        }
        let done = verb == "hold" ? "held" : "released"
        let effect = jobs.dryRun ? "would \(verb)" : done
        // A hold of the queue changes no job.
        let jobs = isOfJobs ? ", \(Quantity.jobs(count)) of it" : verb == "hold" ? ": none of its jobs is sent" : ""
        Output.line("\(effect) \(hold.title)\(jobs)".printable)
        Output.line(counts.text)
    }
}
#endif
