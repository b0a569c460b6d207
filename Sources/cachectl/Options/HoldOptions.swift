#if Tools
import ArgumentParser
import Diamond

/// The options of `queue hold` and `queue release`: a named hold, or jobs.
struct HoldOptions: ParsableArguments {
    @OptionGroup var jobs: JobSelectionOptions

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

    /// The named hold; `nil` if jobs are selected.
    var hold: ReplayHold? {
        if engine { return .engine }
        if whole { return .queue }
        if let lane { return .lane(Lane(lane)) }
        guard !onlyJobs, jobs.ids.isEmpty, !jobs.all, hasOnlyName else { return nil }
        return jobs.filter.key.map { .key($0) } ?? jobs.filter.identity.map { .identity($0) }
    }

    private var hasOnlyName: Bool {
        let filter = jobs.filter
        return filter.state.isEmpty && filter.host == nil && filter.tag == nil && filter.olderThan == nil
            && !filter.needsTest
    }

    func check() throws {
        guard lane != "" else { throw ValidationError("an empty name selects nothing: name the lane") }
        let names = (engine ? 1 : 0) + (whole ? 1 : 0) + (lane == nil ? 0 : 1)
        guard names > 0 else {
            guard hold == nil else {
                guard jobs.filter.key == nil || jobs.filter.identity == nil else {
                    throw ValidationError("give one of --key and --identity, or --jobs for the jobs that have both")
                }
                return
            }
            return try jobs.check()
        }
        guard names == 1, jobs.selectionCount == 0 else {
            throw ValidationError("give only one of --engine, --whole, --lane, --key, --identity, or jobs")
        }
        guard !onlyJobs else {
            throw ValidationError("--jobs is for options that select jobs, such as --key: leave it out")
        }
    }

    func apply(_ action: ReplayAction, reason: String = "", in place: QueueOptions) async throws {
        guard let hold else {
            try await jobs.apply(action, in: place)
            if action == .release, jobs.ids.isEmpty { try await noteHolds(in: place) }
            return
        }
        let queue = try await place.openQueue()
        let wasHeld = try queue.holds().contains { $0.hold == hold }
        let count = try await apply(action, to: hold, reason: reason, in: queue)
        show(action, hold: HoldForm(hold), jobs: count, counts: CountsForm(try queue.counts()), in: place)
        if action == .release, !wasHeld, count == 0 {
            throw ReplayError(.noJob, "\(HoldForm(hold).title) was not held: see 'cachectl queue list'")
        }
    }

    /// Prints the holds that are still in effect. Releasing single jobs ends no named hold.
    private func noteHolds(in place: QueueOptions) async throws {
        let queue = try await place.openQueue()
        for active in try queue.holds() {
            Output.note(
                HoldForm(active.hold, reason: active.reason, since: active.since).note(options: place.optionText))
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
        _ action: ReplayAction, hold: HoldForm, jobs count: Int, counts: CountsForm, in place: QueueOptions
    ) {
        let verb = action.rawValue
        guard !place.json else {
            return Output.json(
                ["verb": verb, "dryRun": jobs.dryRun, "hold": hold, "jobs": count, "counts": counts] as JSONObject)
        }
        let done = verb == "hold" ? "held" : "released"
        let effect = jobs.dryRun ? "would \(verb)" : done
        Output.line("\(effect) \(hold.title), \(Quantity.jobs(count)) of it".printable)
        Output.line(counts.text)
    }
}
#endif
