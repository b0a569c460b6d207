#if Tools
import ArgumentParser
import Diamond
import Foundation

struct QueueImport: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Adds the jobs of lines that export has printed, in their order: all of them, or none.",
        discussion: """
            They get new ids, and their attempts are counted anew. What waited for a time waits for it still, what was to be \
            given up at one is given up at that, what was held is held, one by one, and what may have been processed is known as such. What was done, dead or in review is left \
            out. A line with a secret is refused. A line {"request": {…}} will do.
            """
    )

    @OptionGroup var place: PlaceOptions

    @Argument(help: ArgumentHelp("A file with a job a line, or - for standard input.", valueName: "FILE"))
    var file: String

    @Flag(help: "Say how many there are, and add nothing.")
    var dryRun = false

    func run() async throws {
        let lines = try lines()
        let copies = lines.compactMap(\.copy)
        var done = ImportForm(jobs: copies.count, leftOut: lines.count - copies.count, dryRun: dryRun)
        do throws(ReplayError) {
            if dryRun { try ReplayQueue.check(copies) } else { done.jobs = try await add(copies) }
        } catch {
            throw Failure.report(error)
        }
        if done.jobs < copies.count { done.takenIn = copies.count - done.jobs }
        done.show(place)
    }

    /// - Returns: how many jobs there are more. One of a unique name may go into another.
    private func add(_ copies: [ReplayCopy]) async throws(ReplayError) -> Int {
        let queue = try ReplayQueue(place.location)
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
                return try ImportedLine(Data(line), "line \(number + 1)")
            } catch {
                throw Failure.report(Failure.usage, "\(name): line \(number + 1): \(error.message)")
            }
        }
    }

    private func input() -> Data? { try? FileHandle.standardInput.readToEnd() ?? Data() }
}

/// The form of `queue import --json`, and its line for people.
private struct ImportForm: Encodable {
    var jobs: Int
    var leftOut: Int
    /// The number of lines that made no job, because a job of their unique name waits; absent where there are none.
    var takenIn: Int?
    var dryRun: Bool

    func show(_ place: PlaceOptions) {
        guard !place.json else { return Output.json(self) }
        let ended = leftOut > 0 ? ", and left out \(leftOut) that had ended" : ""
        let others = takenIn.map { "; \($0) more went into jobs of their unique names" } ?? ""
        Output.line("\(dryRun ? "would import" : "imported") \(Quantity.jobs(jobs))\(ended)\(others)")
    }
}
#endif
