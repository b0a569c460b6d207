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
#endif
