#if Tools
import ArgumentParser
import Diamond
import Foundation

struct QueueWatch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Tells what becomes of jobs as it happens, whichever program does it, until it is ended with Ctrl-C.",
        discussion: """
            Looks once a second: of a job that has changed twice in between, the state that it is in then is told. With \
            --json, one object a line.
            """
    )

    @OptionGroup var place: PlaceOptions

    func run() async throws {
        let queue = try place.openQueue()
        do throws(ReplayError) {
            var follower = try JobPoller(queue)
            Output.note("\(CountsForm(try queue.counts()).text); Ctrl-C ends")
            while (try? await Task.sleep(for: .seconds(1))) != nil {
                for job in try follower.next() { show(job) }
            }
        } catch {
            throw Failure.report(error)
        }
    }

    private func show(_ job: ReplayJob) {
        guard !place.json else { return Output.jsonLine(JobForm(job)) }
        let key = job.orderingKey.map { ", key \($0)" } ?? ""
        let what = "job \(job.id) \(job.state) (\(job.reason)): \(job.method) \(job.url)\(key)"
        Output.line("\(Quantity.instant(job.changedAt)) \(what)".printable)
    }
}
#endif
