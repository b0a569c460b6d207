#if Tools
import ArgumentParser
import Diamond

struct QueueExport: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Prints jobs as JSON lines, with the request of each.",
        discussion: """
            Prints the names of secrets, not their values.

            EXAMPLE
              cachectl queue export --app com.example.app > jobs.jsonl
            """
    )

    @OptionGroup var place: QueueOptions
    @OptionGroup var filter: JobFilterOptions

    @Flag(help: .quiet)
    var quiet = false

    func run() async throws {
        guard let queue = try await place.findQueue() else { return }
        var (count, unreadable) = (0, 0)
        let total = filter.isEmpty ? (try? queue.counts())?.values.reduce(0, +) : nil
        let progress = Progress("jobs", of: total, isQuiet: quiet || place.json)
        defer { progress.end() }
        var jobs = try filter.jobs(in: queue)
        while let last = jobs.last {
            for job in jobs {
                if try !export(job, from: queue) { unreadable += 1 }
                count += 1
                Progress.update(count)
            }
            jobs = try filter.jobs(in: queue, after: last.id)
        }
        if unreadable > 0 {
            throw Failure.report(
                Failure.damaged,
                "the requests of \(Quantity.jobs(unreadable)) cannot be read: see 'cachectl queue show ID'")
        }
    }

    /// Prints one job.
    ///
    /// - Returns: Whether its request can be read.
    private func export(_ job: ReplayJob, from queue: ReplayQueue) throws(ReplayError) -> Bool {
        var request: Request?
        do throws(ReplayError) {
            request = try queue.request(of: job.id)
        } catch  where error.code == .badRequest {
            request = nil
        }
        // Another program may have deleted the job meanwhile.
        if request == nil, try queue.job(job.id) == nil { return true }
        Output.jsonLine(job.form.adding(["version": 1, "request": request]))
        return request != nil
    }
}
#endif
