#if Tools
import ArgumentParser
import Diamond

struct QueueMove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "move",
        abstract: "Moves the waiting jobs of a queue to another one, in their order.",
        discussion: """
            FROM and TO are directories of stores, or URLs as for --queue. Moves the jobs that are ready, waiting or \
            held. Jobs that are done, dead or in review stay, and so do those behind a dead one in strict order. The \
            jobs get new ids, and their attempts are counted from zero. Holds on ordering keys, identities and lanes \
            are added to TO. Holds on the whole queue are not.

            End the programs that send jobs of FROM before: the move is refused while one runs. FROM is held until the \
            move is complete. If the move is interrupted, run it again: no job is lost or sent from both. TO is \
            created if it is missing. A server's queue is not sealed.

            EXAMPLE
              cachectl queue move /var/lib/app/store postgresql://queue@db.example.com/app
            """
    )

    @Argument(help: ArgumentHelp("The queue that has the jobs.", valueName: "FROM"), completion: .directory)
    var from: String

    @Argument(help: ArgumentHelp("The queue that gets them.", valueName: "TO"), completion: .directory)
    var to: String

    @Flag(help: "Do not ask. Required if nobody can be asked.")
    var yes = false

    @Flag(help: "Print how many jobs would be moved, and move none.")
    var dryRun = false

    @Flag(help: .json)
    var json = false

    @Option(name: .customLong("key-file"), help: .keyFiles, completion: .file())
    var keyFiles: [String] = []

    @Option(name: .customLong("key-id"), help: .keyIDs)
    var keyIDs: [String] = []

    func validate() throws {
        guard !from.isEmpty, !to.isEmpty else { throw ValidationError("a queue is empty: give a directory or a URL") }
    }

    func run() async throws {
        let seal = try SealKeys(files: keyFiles, ids: keyIDs).seal()
        let source = try await Place(pathOrURL: from).queue(seal)
        let count = try Self.openCount(of: source)
        guard !dryRun else { return try show(moved: count, from: source) }
        if !yes, count > 0 { try Confirmation.require("move", count: count, isJSON: json) }
        let target = try await Place(pathOrURL: to).queue(seal, create: true)
        let move = ReplayMove(from: source.storage, to: target.storage, maximumCount: .max)
        let result = try await move.runHolding()
        await target.close()
        await source.close()
        try show(moved: result.moved.count, refused: result.refusals.map(\.id), from: source)
        for refusal in result.refusals { Output.note("cachectl: job \(refusal.id): \(refusal.error.message)") }
        if !result.refusals.isEmpty { throw Failure.wrongState }
    }

    private static func openCount(of queue: ReplayQueue) throws(ReplayError) -> Int {
        let counts = try queue.counts()
        return [.ready, .waiting, .held].reduce(0) { $0 + (counts[$1] ?? 0) }
    }

    /// - Parameter refused: The jobs that the target has refused. They are held.
    private func show(moved count: Int, refused: [ReplayJob.ID] = [], from source: ReplayQueue) throws(ReplayError) {
        let counts = CountsForm(try source.counts())
        guard !json else {
            return Output.json(
                ["dryRun": dryRun, "jobs": count, "refused": refused, "counts": counts] as JSONObject)
        }
        let others = refused.isEmpty ? "" : "; held, because TO refuses them: \(Quantity.numbers(refused))"
        Output.line("\(dryRun ? "would move" : "moved") \(Quantity.jobs(count))\(others)")
        Output.line("FROM has \(counts.text)")
    }
}
#endif
