#if Tools
import ArgumentParser
import Diamond
import Foundation

struct QueueImport: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Adds the unfinished jobs of an export, in order. If one line is refused, adds none.",
        discussion: """
            Jobs get new ids, and their attempts are counted from zero. They keep their earliest time, expiry, hold, \
            and the mark that they may have been processed. Leaves out jobs that are done, dead or in review. Refuses \
            a line with a secret. The shortest line is {"request": {…}}.

            EXAMPLE
              cachectl queue import jobs.jsonl --store /tmp/store
            """
    )

    @OptionGroup var place: StoreOptions

    @Argument(help: ArgumentHelp("A file with one job per line, or - for standard input.", valueName: "FILE"))
    var file: String

    @Flag(help: "Check the lines, print how many jobs they have, and add nothing.")
    var dryRun = false

    func run() async throws {
        let lines = try lines()
        let copies = lines.compactMap(\.copy)
        var done = ImportForm(jobs: copies.count, leftOut: lines.count - copies.count, dryRun: dryRun)
        let seal = try place.sealing.seal()
        if dryRun { try ReplayQueue.check(copies) } else { done.jobs = try await add(copies, seal: seal) }
        if done.jobs < copies.count { done.takenIn = copies.count - done.jobs }
        done.show(in: place)
    }

    /// Adds jobs to the queue.
    ///
    /// - Returns: The number of new jobs. Jobs with a unique name can be merged into existing ones.
    private func add(_ copies: [ReplayCopy], seal: (any CacheSeal)?) async throws(ReplayError) -> Int {
        let queue = try ReplayQueue(place.location, seal: seal)
        let last = try queue.lastID()
        return Set(try await queue.enqueue(copies)).count { $0 ?? 0 > last }
    }

    private func lines() throws -> [ImportedLine] {
        guard let data = file == "-" ? input() : FileManager.default.contents(atPath: file) else {
            throw Failure.report(Failure.usage, "\(file) is not a readable file: give one that export has written")
        }
        let name = file == "-" ? "standard input" : file
        return try data.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated().compactMap {
            number, line in
            guard line.contains(where: { ![0x20, 0x09, 0x0D].contains($0) }) else { return nil }
            do throws(RequestError) {
                return try ImportedLine(Data(line), place: "line \(number + 1)")
            } catch {
                throw Failure.report(Failure.usage, "\(name): line \(number + 1): \(error.message)")
            }
        }
    }

    private func input() -> Data? { try? FileHandle.standardInput.readToEnd() ?? Data() }
}

/// The output of `queue import`, as JSON and as text.
private struct ImportForm: Encodable {
    var jobs: Int
    var leftOut: Int
    /// The number of lines whose requests went to jobs with the same unique name, which were kept, replaced or merged.
    /// Absent if there are none.
    var takenIn: Int?
    var dryRun: Bool

    func show(in place: StoreOptions) {
        guard !place.json else { return Output.json(self) }
        let ended = leftOut > 0 ? "; \(leftOut) left out: done, dead or in review" : ""
        let others = takenIn.map { "; \($0) not added: another job has the unique name" } ?? ""
        Output.line("\(dryRun ? "would import" : "imported") \(Quantity.jobs(jobs))\(ended)\(others)")
    }
}
#endif
