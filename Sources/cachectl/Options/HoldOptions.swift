#if Tools
import ArgumentParser
import Diamond

/// The selection of what is held or released: all that has a name, now and from now on, or jobs.
struct HoldOptions: ParsableArguments {
    @OptionGroup var jobs: JobSelectionOptions

    @Flag(help: "All that the store's engines send, jobs or not.")
    var engine = false

    @Flag(help: "The whole queue.")
    var queue = false

    @Option(help: ArgumentHelp("A lane: its jobs, and what engines send in it beside.", valueName: "NAME"))
    var lane: String?

    @Flag(
        name: .customLong("jobs"),
        help: "With --key and --identity: the jobs that there are, one by one, and not the name itself.")
    var meansJobs = false

    /// `nil` where jobs are meant.
    var hold: ReplayHold? {
        if engine { return .engine }
        if queue { return .queue }
        if let lane { return .lane(Lane(lane)) }
        guard !meansJobs, jobs.ids.isEmpty, !jobs.all, hasOnlyName else { return nil }
        return jobs.filter.key.map { .key($0) } ?? jobs.filter.identity.map { .identity($0) }
    }

    private var hasOnlyName: Bool {
        let filter = jobs.filter
        return filter.state == nil && filter.host == nil && filter.tag == nil && filter.olderThan == nil
    }

    func check() throws {
        guard lane != "" else { throw ValidationError("an empty name selects nothing: name the lane") }
        let names = (engine ? 1 : 0) + (queue ? 1 : 0) + (lane == nil ? 0 : 1)
        guard names > 0 else {
            guard hold == nil else {
                guard jobs.filter.key == nil || jobs.filter.identity == nil else {
                    throw ValidationError("give one of --key and --identity, or --jobs for the jobs that have both")
                }
                return
            }
            return try jobs.check()
        }
        guard names == 1, jobs.ways == 0 else {
            throw ValidationError("say what in one way: --engine, --queue, --lane, --key, --identity, or jobs")
        }
        guard !meansJobs else {
            throw ValidationError("--jobs is for --key, --identity and other options of jobs: leave it out")
        }
    }

    func apply(_ action: JobAction, reason: String = "", in place: PlaceOptions) async throws {
        guard let hold else {
            try await jobs.apply(action, in: place)
            return try action == .release && jobs.ids.isEmpty ? tellHolds(in: place) : ()
        }
        let queue = try place.openQueue()
        do throws(ReplayError) {
            let wasHeld = try queue.holds().contains { $0.hold == hold }
            let count = try await change(hold, action, reason, in: queue)
            HeldForm(hold, action, count, try queue.counts(), dryRun: jobs.dryRun).show(place)
            if action == .release, !wasHeld, count == 0 {
                throw ReplayError(.noJob, "\(HoldForm(hold).title) was not held: see 'cachectl queue list'")
            }
        } catch {
            throw Failure.report(error)
        }
    }

    /// Tells the holds that keep jobs still. Releasing each of those jobs alone ends no hold.
    private func tellHolds(in place: PlaceOptions) throws {
        let queue = try place.openQueue()
        do throws(ReplayError) {
            for active in try queue.holds() {
                Output.note(HoldForm(active.hold, reason: active.reason, since: active.since).note(in: place))
            }
        } catch {
            throw Failure.report(error)
        }
    }

    private func change(
        _ hold: ReplayHold,
        _ action: JobAction,
        _ reason: String,
        in queue: ReplayQueue
    ) async throws(ReplayError) -> Int {
        switch (action, jobs.dryRun) {
        case (.release, true): try await queue.end(hold, isDryRun: true)
        case (.release, false): try await queue.release(hold)
        case (_, true): try await queue.apply(hold, isDryRun: true)
        default: try await queue.hold(hold, reason: reason)
        }
    }
}

/// The result of a hold: the form of `--json`, and its lines for people.
private struct HeldForm: Encodable {
    var verb: String
    var dryRun: Bool
    var hold: HoldForm
    /// The number of jobs that it has held or released.
    var jobs: Int
    var counts: CountsForm

    init(_ hold: ReplayHold, _ action: JobAction, _ count: Int, _ counts: [ReplayState: Int], dryRun: Bool) {
        (verb, self.dryRun, self.hold, jobs) = (action.rawValue, dryRun, HoldForm(hold), count)
        self.counts = CountsForm(counts)
    }

    func show(_ place: PlaceOptions) {
        guard !place.json else { return Output.json(self) }
        let done = verb == "hold" ? "held" : "released"
        Output.line("\(dryRun ? "would \(verb)" : done) \(hold.title), \(Quantity.jobs(jobs)) of it".printable)
        Output.line(counts.text)
    }
}
#endif
