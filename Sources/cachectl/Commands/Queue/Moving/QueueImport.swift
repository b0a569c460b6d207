#if Tools
import ArgumentParser
import Diamond
import Foundation

struct QueueImport: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Adds the jobs of lines that export has printed, in their order: all of them, or none.",
        discussion: """
            They get new ids, and their attempts are counted anew. What waited for a time waits for it still, what was held \
            is held, one by one, and what may have been processed is known as such. What was done, dead or in review is left \
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
        let done = ImportForm(jobs: copies.count, leftOut: lines.count - copies.count, dryRun: dryRun)
        do throws(ReplayError) {
            if dryRun {
                try ReplayQueue.check(copies)
            } else {
                try await ReplayQueue(place.location).enqueue(copies)
            }
        } catch {
            throw Failure.report(error)
        }
        done.show(place)
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
    var dryRun: Bool

    func show(_ place: PlaceOptions) {
        guard !place.json else { return Output.json(self) }
        let ended = leftOut > 0 ? ", and left out \(leftOut) that had ended" : ""
        Output.line("\(dryRun ? "would import" : "imported") \(Quantity.jobs(jobs))\(ended)")
    }
}
#endif
