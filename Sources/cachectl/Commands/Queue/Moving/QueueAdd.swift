#if Tools
import ArgumentParser
import Diamond

struct QueueAdd: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Adds a request to be sent later, and prints the job's id.",
        discussion: """
            It is kept as it is given; who sends it adds its own headers. No secret is kept: name it in the credentials of a \
            request file. Where a job of its unique name waits and stays, or takes it in, that one's id is printed; none \
            where both need not be sent.
            """
    )

    @OptionGroup var place: PlaceOptions
    @OptionGroup var options: RequestOptions
    @OptionGroup var replay: ReplayOptions

    func run() async throws {
        var request = try options.request()
        try replay.apply(to: &request)
        do throws(ReplayError) {
            let queue = try ReplayQueue(place.location)
            let delay = Duration.milliseconds(replay.after?.milliseconds ?? 0)
            show(try await queue.enqueue(request, after: delay))
        } catch {
            throw Failure.report(error)
        }
    }

    private func show(_ id: ReplayJob.ID?) {
        guard !place.json else { return Output.json(["id": id]) }
        guard let id else { return Output.note("nothing is left to be sent") }
        Output.line("\(id)")
    }
}
#endif
