#if Tools
import ArgumentParser
import Diamond
import DiamondSQLite
import Foundation

struct QueueReplay: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Sends the jobs that can be sent now.",
        discussion: """
            Sends jobs with the same ordering key one after the other. Several programs can send the jobs of one queue \
            at the same time. If a result cannot be written to disk, the write is tried again until Ctrl-C. The \
            request is not sent again. At Ctrl-C, or when the output is closed, running requests finish. With --watch \
            and --json, prints one JSON object per change. Exits with 1 if a job becomes dead or needs review during \
            the run, and with 4 if the queue cannot be written.

            Reads the secrets that a request names from the environment: github-token from GITHUB_TOKEN. If one is \
            missing, a job with an identity is held until the identity is released. A job without one waits.

            EXAMPLE
              cachectl queue replay --dry-run
            """
    )

    @OptionGroup var store: StoreOptions
    @OptionGroup var server: QueueServerOption

    @Flag(help: "Stop when no more job can be sent now (default).")
    var once = false

    @Flag(help: "Keep sending jobs as they become ready, until Ctrl-C.")
    var watch = false

    @Flag(help: "Print what would be sent, and send nothing.")
    var dryRun = false

    @Flag(help: .quiet)
    var quiet = false

    @Option(help: ArgumentHelp("Maximum number of parallel requests (default: 8).", valueName: "N"))
    var width: Int?

    @Option(help: ArgumentHelp("Only jobs of this identity, and jobs without one; repeatable.", valueName: "NAME"))
    var identity: [String] = []

    @Option(
        help: ArgumentHelp(
            "With --dry-run: maximum number of jobs listed as sent, and as waiting (default: 50).", valueName: "N"),
        transform: Limit.init(argument:))
    var limit: Limit?

    func validate() throws {
        guard width ?? 1 > 0 else { throw ValidationError("--width must be 1 or more") }
        guard dryRun || limit == nil else {
            throw ValidationError("--limit needs --dry-run: leave it out")
        }
        guard !dryRun || width == nil else { throw ValidationError("--dry-run sends nothing: leave --width out") }
        guard [once, watch, dryRun].count(where: \.self) < 2 else {
            throw ValidationError("give one of --once, --watch and --dry-run")
        }
    }

    func run() async throws {
        let queue = try await queue()
        guard dryRun else { return try await send(ready: (try? queue.counts())?[.ready]) }
        let identities: ReplaySelection.Identities = identity.isEmpty ? .all : .only(Set(identity))
        let limit = limit?.count ?? 50
        let plan = ReplayPlan(
            preview: try await queue.claimPreview(limit: limit, of: identities),
            waiting: try queue.waiting(limit: limit, of: identities),
            holds: try queue.holds().filter(\.hold.isWhole).map { HoldForm($0) })
        try show(plan, of: queue)
    }

    private func queue() async throws -> ReplayQueue {
        try await server.place(besides: store.place).queue(store.sealing.seal())
    }

    // MARK: Sending

    /// - Parameter count: The number of jobs that are ready.
    private func send(ready count: Int?) async throws {
        // SIGPIPE of a closed output would end the program while requests are running.
        signal(SIGPIPE, SIG_IGN)
        let configuration = try await configuration()
        let engine = Engine(connecting: configuration)
        let messages = UniqueMessages()
        // A signal lets running requests finish.
        let progress = Progress("jobs", of: count, isQuiet: quiet || watch || store.json, endsAtSignal: false)
        let result = await replay(with: engine, messages: messages)
        progress.end()
        // If the queue cannot be written, the engine may never finish closing.
        if (try? result.get().error) != nil {
            _ = await TimeLimit(.seconds(1)).value { await engine.close() }
        } else {
            await engine.close()
        }
        do {
            let summary = try result.get()
            show(summary, counts: try await queue().counts())
            if let error = summary.error { throw error }
            if summary.dead + summary.needsReview > 0 { throw ReplayError(.wrongState, Self.remedy) }
        } catch let error as ReplayError {
            throw messages.report(error)
        }
    }

    private static let remedy =
        "some jobs need your decision: see 'cachectl queue list --state dead' and '--state needsReview'"

    private func replay(
        with engine: Engine, messages: UniqueMessages
    ) async -> Result<Replayer.Summary, ReplayError> {
        let identities = Set(identity)
        let width = width ?? 8
        do throws(ReplayError) {
            let replayer =
                try identities.isEmpty
                ? engine.replayer(width: width) : engine.replayer(width: width, identities: { identities })
            return .success(await run(replayer, with: engine, messages: messages))
        } catch {
            return .failure(error)
        }
    }

    /// Runs a replayer and prints the transitions of its jobs.
    private func run(
        _ replayer: Replayer, with engine: Engine, messages: UniqueMessages
    ) async -> Replayer.Summary {
        let isJSON = store.json
        let isWatching = watch
        let count = Guarded(0)
        let observation = engine.activity.observe { event in
            if case .queueFailed(let reason) = event { messages.print(reason) }
            guard case .job(let transition) = event, transition.verb != .claim, !isJSON || isWatching else { return }
            defer {
                Progress.update(
                    count.withLock { count in
                        count += 1
                        return count
                    })
            }
            let line = isJSON ? Output.text(of: transition.form) : transition.description.printable
            if !Output.attempt(line: line) { replayer.stop() }
        }
        let interruption = Interruption { replayer.stop() }
        let summary = watch ? await replayer.run() : await replayer.replay()
        interruption.end()
        await engine.waitForRefreshes()
        withExtendedLifetime(observation) {}
        return summary
    }

    /// Returns the engine's configuration.
    ///
    /// - Throws: Exit code 5 if the store is sealed with another key: nothing may be written there unencrypted.
    private func configuration() async throws -> Engine.Configuration {
        var configuration = try store.configuration()
        if let server = try server.place(besides: store.place).server {
            configuration.queue = .storage(try await server.replayStorage(create: false))
        }
        try store.useCapacity(in: &configuration)
        return configuration
    }

    private func show(_ summary: Replayer.Summary, counts: [ReplayState: Int]) {
        let counts = CountsForm(counts)
        guard !store.json else {
            let form: JSONObject = [
                "finished": summary.finished, "postponed": summary.postponed, "dead": summary.dead,
                "needsReview": summary.needsReview, "counts": counts,
            ]
            return watch ? Output.jsonLine(form) : Output.json(form)
        }
        let parts = [
            (summary.finished, "done"), (summary.postponed, "postponed"), (summary.dead, "dead"),
            (summary.needsReview, "in review"),
        ].filter { $0.0 > 0 }.map { "\($0) \($1)" }
        if !parts.isEmpty || summary.error == nil {
            Output.line(parts.isEmpty ? "nothing to send now" : parts.joined(separator: ", "))
        }
        Output.line(counts.text)
    }

    // MARK: Dry run

    private func show(_ plan: ReplayPlan, of queue: ReplayQueue) throws(ReplayError) {
        var jobs: [ReplayJob] = []
        for id in plan.sent { if let job = try queue.job(id) { jobs.append(job) } }
        guard !store.json else { return Output.json(plan.form(sending: jobs)) }
        for line in plan.lines(options: server.optionText ?? store.optionText) { Output.line(line.printable) }
        for (title, part) in [("SENT NOW", jobs), ("WAITING", plan.later)] where !part.isEmpty {
            Output.lines("\n\(title)")
            Output.table(JobRow.table(of: part))
        }
    }
}

extension ReplayTransition {
    fileprivate var form: JSONObject {
        [
            "job": jobID, "verb": verb.description, "reason": reason.description, "from": from?.description,
            "to": to?.description, "at": Quantity.instant(at),
        ]
    }
}
#endif
