#if Tools
import ArgumentParser
import Diamond

/// A command that applies an action to jobs.
protocol JobActionCommand: AsyncParsableCommand, JobCommand {
    static var action: ReplayAction { get }
}

extension JobActionCommand {
    func validate() throws { try checkSelection() }

    func run() async throws { try await apply(Self.action) }
}

struct QueueRetry: JobActionCommand {
    static let action = ReplayAction.retry
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Makes waiting jobs ready, so that a running program or 'queue replay' sends them now.",
        discussion: """
            Options and --all skip jobs that are neither waiting nor ready. The id of such a job is an error.

            EXAMPLE
              cachectl queue retry --match /orders/ --error 'status 503'
            """
    )

    @OptionGroup var place: QueueOptions
    @OptionGroup var filter: JobFilterOptions
    @OptionGroup var jobs: JobSelectionOptions
}

struct QueueDiscard: JobActionCommand {
    static let action = ReplayAction.discard
    static let configuration = CommandConfiguration(
        commandName: "discard",
        abstract: "Marks jobs as done without sending them.",
        discussion: """
            Running jobs cannot be discarded. Options and --all skip running and done jobs. The id of such a job is an \
            error.

            EXAMPLE
              cachectl queue discard --state dead --error 'status 404' --yes
            """
    )

    @OptionGroup var place: QueueOptions
    @OptionGroup var filter: JobFilterOptions
    @OptionGroup var jobs: JobSelectionOptions
}

struct QueueRedrive: JobActionCommand {
    static let action = ReplayAction.redrive
    static let configuration = CommandConfiguration(
        commandName: "redrive",
        abstract: "Makes dead jobs and jobs in review ready again; a program or 'queue replay' sends them.",
        discussion: """
            Jobs keep their order and their idempotency keys. Their attempts are counted from zero. Before you redrive \
            a job in review, make sure that sending it a second time does no harm.

            EXAMPLE
              cachectl queue redrive 42
            """
    )

    @OptionGroup var place: QueueOptions
    @OptionGroup var filter: JobFilterOptions
    @OptionGroup var jobs: JobSelectionOptions
}

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
        Output.result(["id": new], or: "\(new)", isJSON: place.json)
    }
}
#endif
