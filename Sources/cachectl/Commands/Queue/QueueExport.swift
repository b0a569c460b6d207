#if Tools
import ArgumentParser
import Diamond

struct QueueExport: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Prints jobs as JSON lines, with the request of each, or writes them into an archive.",
        discussion: """
            Prints the names of secrets, not their values.

            --archive writes the same lines into a file, with a checksum, for 'cachectl queue import'. Only its owner \
            can read it. It replaces an older file when it is complete. Leaves out jobs whose requests cannot be read. \
            Without a queue, it writes nothing, and fails.

            EXAMPLE
              cachectl queue export --app com.example.app > jobs.jsonl
            """
    )

    @OptionGroup var place: QueueOptions
    @OptionGroup var filter: JobFilterOptions

    @Option(help: ArgumentHelp("Write an archive for 'cachectl queue import'.", valueName: "FILE"), completion: .file())
    var archive: String?

    @Flag(help: "For --archive: copy a sealed queue in clear.")
    var withSecrets = false

    @Flag(help: .quiet)
    var quiet = false

    func validate() throws {
        guard archive != "" else { throw ValidationError("--archive is empty: name a file, or leave the option out") }
    }

    func run() async throws {
        // A store without a queue may be the wrong one: an empty archive must not replace a good one.
        if archive != nil, !withSecrets, try place.chosenPlace().store != nil, try place.sealing.seal() != nil {
            throw Failure.report(
                Failure.usage, "the queue is sealed, and an archive is in clear: give --with-secrets to copy it")
        }
        let queue = archive == nil ? try await place.findQueue() : try await place.openQueue()
        let writer = try archive.map { try ArchiveWriter($0, ArchiveHeader(.queue)) }
        let unreadable = try queue.map { try export($0, to: writer) } ?? 0
        if let writer, let archive {
            try writer.finish()
            Output.result(
                ["archived": writer.count], or: "archived \(Quantity.jobs(writer.count)) in \(archive)",
                isJSON: place.json)
        }
        if unreadable > 0 {
            throw Failure.report(
                Failure.damaged,
                "the requests of \(Quantity.jobs(unreadable)) cannot be read: see 'cachectl queue show ID'")
        }
    }

    /// - Returns: The number of jobs whose requests cannot be read.
    private func export(_ queue: ReplayQueue, to writer: ArchiveWriter?) throws -> Int {
        var (count, unreadable) = (0, 0)
        let total = filter.isEmpty ? (try? queue.counts())?.values.reduce(0, +) : nil
        let progress = Progress("jobs", of: total, isQuiet: quiet || place.json, endsAtSignal: writer == nil)
        defer { progress.end() }
        var jobs = try filter.filter.jobs(in: queue)
        while let last = jobs.last {
            for job in jobs {
                if try !export(job, from: queue, to: writer) { unreadable += 1 }
                count += 1
                Progress.update(count)
            }
            jobs = try filter.filter.jobs(in: queue, after: last.id)
        }
        return unreadable
    }

    /// Exports one job.
    ///
    /// - Returns: Whether its request can be read.
    private func export(_ job: ReplayJob, from queue: ReplayQueue, to writer: ArchiveWriter?) throws -> Bool {
        let request = try request(of: job, in: queue)
        // Another program may have deleted the job meanwhile.
        if request == nil, try queue.job(job.id) == nil { return true }
        // A hold of its key, identity or lane is not copied, and must not become one of the job itself.
        let isHeld = job.isHeld && job.awaitedJobs.isEmpty
        let line = job.form.adding(["version": 1, "request": request, "isHeld": isHeld])
        guard let writer else {
            Output.jsonLine(line)
            return request != nil
        }
        if request != nil { try writer.add(line) }
        return request != nil
    }

    /// Returns the request of a job; `nil` if it cannot be read.
    private func request(of job: ReplayJob, in queue: ReplayQueue) throws(ReplayError) -> Request? {
        do throws(ReplayError) {
            return try queue.request(of: job.id)
        } catch  where error.code == .badRequest {
            return nil
        }
    }
}
#endif
