#if Tools
import ArgumentParser
import Diamond

/// The options of `queue add` that replace the replay settings of the request.
struct ReplayOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The ordering key. Jobs with the same key are sent one after the other.", valueName: "KEY"))
    var key: String?

    @Flag(help: "Later jobs with the ordering key wait until this one is done or discarded.")
    var strict = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The priority. Jobs with a higher one are sent first (default: 0).", valueName: "N"))
    var priority: Int?

    @Option(help: ArgumentHelp("Time to wait before it is sent, such as 90s, 15m, 36h or 7d.", valueName: "TIME"))
    var after: Age?

    @Option(help: ArgumentHelp("Maximum number of counted attempts (default: 20).", valueName: "N"))
    var attempts: Int?

    @Option(
        help: ArgumentHelp("Give up after this time, such as 90s, 15m, 36h or 7d (default: 7d).", valueName: "TIME"))
    var expiry: Age?

    @Option(help: ArgumentHelp("A unique name. Of each identity, only one unsent job can have it.", valueName: "NAME"))
    var unique: String?

    @Option(
        help: ArgumentHelp(
            "For an unsent job with the unique name: keep (add no job, the default), replace, preserveSchedule "
                + "(replace its request, not its time), or merge.",
            valueName: "WAY"))
    var uniqueness: ReplayPolicy.Uniqueness?

    @Option(help: ArgumentHelp("The lane.", valueName: "NAME"))
    var lane: String?

    @Option(help: ArgumentHelp("A tag; repeatable.", valueName: "NAME"))
    var tag: [String] = []

    @Option(
        help: ArgumentHelp(
            "A tag whose stored responses become stale when the request succeeds; repeatable.", valueName: "NAME"))
    var invalidates: [String] = []

    func validate() throws {
        guard key != "", unique != "", lane != "" else {
            throw ValidationError("a name is empty: give a name, or leave the option out")
        }
        guard (-1_000_000...1_000_000).contains(priority ?? 0) else {
            throw ValidationError("--priority must be from -1000000 to 1000000")
        }
        guard (1...1000).contains(attempts ?? 1) else { throw ValidationError("--attempts must be from 1 to 1000") }
    }

    func apply(to request: inout Request) throws {
        if request.replay.mode == .never { request.replay.mode = .durable }
        if let key { request.replay.orderingKey = key }
        if strict { request.replay.order = .strict }
        guard !strict || request.replay.orderingKey != nil else {
            throw Failure.report(Failure.usage, "--strict needs an ordering key: give one with --key")
        }
        if let priority { request.replay.priority = priority }
        if let attempts { request.replay.attempts = attempts }
        if let expiry { request.replay.expiry = .milliseconds(expiry.milliseconds) }
        if let unique { request.replay.unique = unique }
        if let uniqueness { request.replay.uniqueness = uniqueness }
        guard uniqueness == nil || request.replay.unique != nil else {
            throw Failure.report(
                Failure.usage, "--uniqueness needs a unique name: give one with --unique")
        }
        if let lane { request.lane = Lane(lane) }
        request.tags.formUnion(tag)
        request.invalidates.formUnion(invalidates)
    }
}
#endif
