#if Tools
import ArgumentParser
import Diamond

struct QueueResend: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resend",
        abstract: "Adds the request of a job that is done as a new job, and prints its id.",
        discussion: """
            The new job has an idempotency key of its own: the server processes the request again. Jobs that are dead \
            or in review are sent again with redrive, under their own key. Refused while another job has its unique \
            name.

            EXAMPLE
              cachectl queue resend 42
            """
    )

    @OptionGroup var place: QueueOptions

    @Argument(help: ArgumentHelp("The job's id.", valueName: "ID"))
    var id: Int64

    func run() async throws {
        let queue = try await place.openQueue()
        let new = try await JobResend(id: id, options: place.optionText).apply(in: queue)
        guard !place.json else { return Output.json(["id": new]) }
        Output.line("\(new)")
    }
}
#endif
