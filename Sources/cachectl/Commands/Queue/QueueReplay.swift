#if Tools
import ArgumentParser
import Diamond
import Foundation

struct QueueReplay: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Sends what can be sent now, or says what that would be.",
        discussion: """
            Of each ordering key only the first job may be sent: those behind it follow when it is done. Any number of \
            programs may send the jobs of one queue at the same time. Ends with 1 when a job has died or a person has to \
            look at one, and with 4 when the queue cannot be written. An outcome that the disk does not accept is written \
            again until Ctrl-C. With --watch and --json, what becomes of jobs is told as one object a line. Ctrl-C, or an output that nobody reads any more, lets what is on its way come to its end.

            A secret that a request names is taken from the environment: github-token from GITHUB_TOKEN. Where it \
            is not there, a job of an identity is held until that is released, and any other waits.
            """
    )

    @OptionGroup var store: StoreOptions

    @Flag(help: "Send until nothing is left that can be sent now; this is the default.")
    var once = false

    @Flag(help: "Go on, and send what is added and whose time comes, until Ctrl-C.")
    var watch = false

    @Flag(help: "Say what would be sent, and send nothing.")
    var dryRun = false

    @Option(help: ArgumentHelp("Jobs on their way at the same time, at most; 8.", valueName: "N"))
    var width: Int?

    @Option(help: ArgumentHelp("Only jobs of an identity, and those of nobody; again for more.", valueName: "NAME"))
    var identity: [String] = []

    @Option(
        help: ArgumentHelp(
            "With --dry-run: jobs at most, of those to be sent as of those that wait; 50.", valueName: "N"),
        transform: Limit.init(argument:))
    var limit: Limit?

    private var place: PlaceOptions { store.place }

    func validate() throws {
        guard width ?? 1 > 0 else { throw ValidationError("--width is from 1 on") }
        guard dryRun || limit == nil else {
            throw ValidationError("--limit is for --dry-run: without it, all is sent that can be")
        }
        guard !dryRun || width == nil else { throw ValidationError("--width is not for --dry-run: nothing is sent") }
        guard [once, watch, dryRun].count(where: \.self) < 2 else {
            throw ValidationError("give one of --once, --watch and --dry-run")
        }
    }

    func run() async throws {
        let queue = try place.openQueue()
        guard dryRun else { return try await send() }
        do throws(ReplayError) {
            let identities: ReplayTable.Identities = identity.isEmpty ? .all : .only(Set(identity))
            let limit = limit?.count ?? 50
            let plan = ReplayPlan(
                preview: try await queue.claimPreview(limit: limit, of: identities),
                waiting: try queue.waiting(limit: limit, of: identities),
                holds: try queue.holds().filter(\.hold.isWhole).map {
                    HoldForm($0.hold, reason: $0.reason, since: $0.since)
                })
            try show(plan, of: queue)
        } catch {
            throw Failure.report(error)
        }
    }

    // MARK: Sending

    private func send() async throws {
        // Or a reader that is gone would end the program with jobs on their way.
        signal(SIGPIPE, SIG_IGN)
        let engine = Engine(try configuration())
        let complaints = Complaints()
        let outcome = await outcome(with: engine, complaints)
        // If the queue cannot be written, the end must not wait for it.
        if (try? outcome.get().error) != nil {
            _ = await Deadline.value(within: .seconds(1)) { await engine.close() }
        } else {
            await engine.close()
        }
        do throws(ReplayError) {
            let summary = try outcome.get()
            show(summary, try openCounts())
            if let error = summary.error { throw error }
            if summary.dead + summary.needsReview > 0 { throw ReplayError(.wrongState, Self.remedy) }
        } catch {
            throw complaints.report(error)
        }
    }

    private static let remedy = "a person has to look: see 'cachectl queue list --state dead' and '--state needsReview'"

    private func outcome(
        with engine: Engine, _ complaints: Complaints
    ) async -> Result<Replayer.Summary, ReplayError> {
        let (identities, width) = (Set(identity), width ?? 8)
        do throws(ReplayError) {
            let replayer =
                try identities.isEmpty
                ? engine.replayer(width: width) : engine.replayer(width: width, identities: { identities })
            return .success(await summary(of: replayer, engine, complaints))
        } catch {
            return .failure(error)
        }
    }

    /// Sends, and tells of it until nothing more is to be told.
    private func summary(
        of replayer: Replayer, _ engine: Engine, _ complaints: Complaints
    ) async -> Replayer.Summary {
        let (isJSON, isWatching) = (place.json, watch)
        let observation = engine.activity.observe { event in
            if case .queueFailed(let reason) = event { complaints.add(reason) }
            guard case .job(let transition) = event, transition.verb != .claim, !isJSON || isWatching else { return }
            let line = isJSON ? Output.text(of: TransitionForm(transition)) : transition.description.printable
            if !Output.attempt(line: line) { replayer.stop() }
        }
        let interruption = Interruption { replayer.stop() }
        let summary = watch ? await replayer.run() : await replayer.replay()
        interruption.end()
        await engine.settle()
        withExtendedLifetime(observation) {}
        return summary
    }

    /// Not where the store is sealed with another key, or nobody can tell: nothing is written into it in clear.
    private func configuration() throws -> Engine.Configuration {
        var configuration = try store.configuration()
        let cache: Cache?
        do throws(CacheError) { cache = try store.findCache(configuration.seal) } catch { throw Failure.report(error) }
        if let cache {
            try store.refuseLocked(cache)
            configuration.takeBound(of: cache)
        }
        return configuration
    }

    private func openCounts() throws(ReplayError) -> [ReplayState: Int] {
        try ReplayQueue(existing: store.location).counts()
    }

    private func show(_ summary: Replayer.Summary, _ counts: [ReplayState: Int]) {
        let form = SummaryForm(summary, counts)
        guard !place.json else { return watch ? Output.jsonLine(form) : Output.json(form) }
        let parts = [
            (summary.finished, "done"), (summary.postponed, "postponed"), (summary.dead, "dead"),
            (summary.needsReview, "in review"),
        ].filter { $0.0 > 0 }.map { "\($0) \($1)" }
        if !parts.isEmpty || summary.error == nil {
            Output.line(parts.isEmpty ? "nothing to be sent now" : parts.joined(separator: ", "))
        }
        Output.line(CountsForm(counts).text)
    }

    // MARK: Not sending

    private func show(_ plan: ReplayPlan, of queue: ReplayQueue) throws(ReplayError) {
        var jobs: [ReplayJob] = []
        for id in plan.sent { if let job = try queue.job(id) { jobs.append(job) } }
        guard !place.json else { return Output.json(PlanForm(plan, jobs)) }
        let now = Date()
        for line in plan.lines(in: place) { Output.line(line.printable) }
        for (title, part) in [("SENT NOW", jobs), ("WAITING", plan.later)] where !part.isEmpty {
            Output.lines("\n\(title)")
            var table = JobRow.table
            table.rows = part.map { JobRow($0, now: now).cells }
            Output.table(table)
        }
    }
}

/// A transition of a job: a line of `queue replay --watch --json`.
private struct TransitionForm: Encodable {
    var job: Int64
    var verb: String
    /// Absent of a new one.
    var from: String?
    /// Absent of one that is gone.
    var to: String?
    var reason: String
    var at: String

    init(_ transition: ReplayTransition) {
        (job, verb, reason) = (transition.jobID, transition.verb.description, transition.reason.description)
        (from, to) = (transition.from?.description, transition.to?.description)
        at = Quantity.instant(transition.at)
    }
}

/// The form of `queue replay --json`, and the last line of `queue replay --watch --json`.
private struct SummaryForm: Encodable {
    var finished: Int
    var postponed: Int
    var dead: Int
    var needsReview: Int
    var counts: CountsForm

    init(_ summary: Replayer.Summary, _ counts: [ReplayState: Int]) {
        (finished, postponed) = (summary.finished, summary.postponed)
        (dead, needsReview) = (summary.dead, summary.needsReview)
        self.counts = CountsForm(counts)
    }
}
#endif
