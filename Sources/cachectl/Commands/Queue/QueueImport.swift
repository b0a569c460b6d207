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

    @OptionGroup var place: QueueOptions

    @Argument(
        help: ArgumentHelp("A file with one job per line, or - for standard input.", valueName: "FILE"),
        completion: .file())
    var file: String

    @Flag(help: "Check the lines, print how many jobs they have, and add nothing.")
    var dryRun = false

    func run() async throws {
        let lines = try lines()
        let copies = lines.compactMap(\.copy)
        if dryRun { try ReplayQueue.check(copies) }
        let count = dryRun ? copies.count : try await add(copies)
        show(count, leftOut: lines.count - copies.count, takenIn: copies.count - count)
    }

    /// Adds jobs to the queue.
    ///
    /// - Returns: The number of new jobs. Jobs with a unique name can be merged into existing ones.
    private func add(_ copies: [ReplayCopy]) async throws -> Int {
        let queue = try await place.openQueue(create: true)
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

    /// - Parameter takenIn: The number of lines whose unique names other jobs have.
    private func show(_ count: Int, leftOut: Int, takenIn: Int) {
        guard !place.json else {
            let form: JSONObject = [
                "jobs": count, "leftOut": leftOut, "takenIn": takenIn > 0 ? takenIn : nil, "dryRun": dryRun,
            ]
            return Output.json(form)
        }
        let ended = leftOut > 0 ? "; \(leftOut) left out: done, dead or in review" : ""
        let others = takenIn > 0 ? "; \(takenIn) not added: another job has the unique name" : ""
        Output.line("\(dryRun ? "would import" : "imported") \(Quantity.jobs(count))\(ended)\(others)")
    }
}
#endif
