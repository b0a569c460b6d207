#if Tools
import ArgumentParser
import Diamond
import Foundation

struct QueueWatch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Prints the changes of jobs by any program, until Ctrl-C.",
        discussion: """
            Polls once a second. If a job changes twice between two polls, only its last state is printed. --json \
            prints one object per line.

            EXAMPLE
              cachectl queue watch --app com.example.app
            """
    )

    @OptionGroup var place: QueueOptions

    func run() async throws {
        let queue = try await place.openQueue()
        var poller = try JobPoller(queue)
        Output.note("\(CountsForm(try queue.counts()).text); Ctrl-C ends")
        while (try? await Task.sleep(for: .seconds(1))) != nil {
            for job in try poller.next() { show(job) }
        }
    }

    private func show(_ job: ReplayJob) {
        guard !place.json else { return Output.jsonLine(job.form) }
        let key = job.orderingKey.map { ", key \($0)" } ?? ""
        let what = "job \(job.id) \(job.state) (\(job.reason)): \(job.method) \(job.url)\(key)"
        Output.line("\(Quantity.instant(job.changedAt)) \(what)".printable)
    }
}
#endif
