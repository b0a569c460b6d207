#if Tools
import ArgumentParser
import Diamond

struct QueueAdd: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Adds a request to the queue, and prints the id of its job.",
        discussion: """
            Stores the request as given. The program that sends it adds its own headers. Stores no secrets: name them \
            in the credentials of a request file. If a job with the same unique name is kept, replaced or merged, \
            prints its id. Prints no id if merging leaves nothing to send.

            EXAMPLE
              cachectl queue add --key tasks --json-body '{"done":true}' \\
                https://api.example.com/tasks
            """
    )

    @OptionGroup var place: QueueOptions
    @OptionGroup var options: RequestOptions
    @OptionGroup var replay: ReplayOptions

    func run() async throws {
        var request = try options.request()
        try replay.apply(to: &request)
        let queue = try await place.openQueue(create: true)
        let delay = Duration.milliseconds(replay.after?.milliseconds ?? 0)
        show(try await queue.enqueue(request, after: delay))
    }

    private func show(_ id: ReplayJob.ID?) {
        guard !place.json else { return Output.json(["id": id]) }
        guard let id else { return Output.note("nothing is left to send") }
        Output.line("\(id)")
    }
}
#endif
