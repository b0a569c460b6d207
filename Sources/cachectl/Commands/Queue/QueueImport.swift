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
            a line with a secret. The shortest line is {"request": {…}}. A second import of the same lines adds the jobs \
            again; that of an archive does not.

            Of an archive (queue export --archive), adds jobs only if all checksums match, and leaves out those that the queue has: those with \
            the same method, URL, identity and Idempotency-Key, or, without a key, with an equal request and the same \
            expiry. So a second import adds none, unless the queue has deleted some meanwhile, as it deletes jobs a \
            day after they are done. Two imports at the same time can add jobs twice: run one after the other.

            EXAMPLE
              cachectl queue import jobs.jsonl --store /tmp/store
            """
    )

    @OptionGroup var place: QueueOptions

    @Argument(
        help: ArgumentHelp("An archive, a file with one job per line, or - for standard input.", valueName: "FILE"),
        completion: .file())
    var file: String

    @Flag(help: "Check the lines, print how many jobs they have, and add nothing.")
    var dryRun = false

    /// The lines of a file.
    private struct Lines {
        var lines: [ImportedLine] = []
        var isArchive = false
    }

    func run() async throws {
        let reader = try ArchiveReader(file, expecting: "a file that export has written")
        let file = try await reader.reporting({ try lines(of: reader) }, outcome: { "no job was added" })
        let copies = file.lines.compactMap(\.copy)
        let new = file.isArchive ? try await missing(among: copies) : copies
        if dryRun { try ReplayQueue.check(new) }
        let count = dryRun ? new.count : try await add(new)
        show(
            count, leftOut: file.lines.count - copies.count, known: copies.count - new.count, takenIn: new.count - count
        )
    }

    private func missing(among copies: [ReplayCopy]) async throws -> [ReplayCopy] {
        do {
            return try ImportedJobs(like: copies, in: try await place.openQueue()).missing()
        } catch let error as ReplayError where error.code == .noStore {
            return copies
        }
    }

    /// Adds jobs to the queue.
    ///
    /// - Returns: The number of new jobs. Jobs with a unique name can be merged into existing ones.
    private func add(_ copies: [ReplayCopy]) async throws -> Int {
        let queue = try await place.openQueue(create: true)
        let last = try queue.lastID()
        return Set(try await queue.enqueue(copies)).count { $0 ?? 0 > last }
    }

    private func lines(of reader: ArchiveReader) throws -> Lines {
        guard try reader.header(of: .queue) != nil else {
            return Lines(lines: try lines(in: reader.rest(), of: reader.name))
        }
        var lines: [Data] = []
        while let line = try reader.next() { lines.append(line) }
        // Parsed when the checksum of the whole has matched.
        let parsed = try lines.enumerated().map { try Self.line($1, number: $0 + 2, of: reader.name) }
        return Lines(lines: parsed, isArchive: true)
    }

    private func lines(in data: Data, of name: String) throws -> [ImportedLine] {
        try data.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated().compactMap { number, line in
            guard line.contains(where: { ![0x20, 0x09, 0x0D].contains($0) }) else { return nil }
            return try Self.line(Data(line), number: number + 1, of: name)
        }
    }

    private static func line(_ line: Data, number: Int, of name: String) throws -> ImportedLine {
        do throws(RequestError) {
            return try ImportedLine(line, place: "line \(number)")
        } catch {
            throw Failure.report(Failure.usage, "\(name): line \(number): \(error.message)")
        }
    }

    /// - Parameters:
    ///   - known: The number of jobs of an archive that the queue has.
    ///   - takenIn: The number of lines whose unique names other jobs have.
    private func show(_ count: Int, leftOut: Int, known: Int, takenIn: Int) {
        let ended = leftOut > 0 ? "; \(leftOut) left out: done, dead or in review" : ""
        let old = known > 0 ? "; \(known) not added: the queue has them" : ""
        let others = takenIn > 0 ? "; \(takenIn) not added: another job has the unique name" : ""
        let imported = "\(dryRun ? "would import" : "imported") \(Quantity.jobs(count))"
        Output.result(
            [
                "jobs": count, "leftOut": leftOut, "known": known > 0 ? known : nil,
                "takenIn": takenIn > 0 ? takenIn : nil, "dryRun": dryRun,
            ], or: imported + ended + old + others, isJSON: place.json)
    }
}
#endif
