#if Tools
import Diamond

/// The jobs that a replayer would send now, and those that would wait.
struct ReplayPlan {
    var preview: ReplayQueue.ClaimPreview
    var waiting: [ReplayJob]
    /// The holds on the whole queue or all engines. Nothing is sent while one is in effect.
    var holds: [HoldForm]

    /// The jobs to send now, in the order in which they are sent.
    var sent: [Int64] { ids(.claim) }
    /// The jobs whose expiry has passed.
    var expired: [Int64] { ids(.expire) }
    /// The jobs that would need review.
    var reviewed: [Int64] { ids(.fail) }
    /// The waiting jobs that the preview does not change.
    var later: [ReplayJob] { waiting.filter { !changed.contains($0.id) } }

    private var changed: Set<Int64> { Set(preview.transitions.map(\.jobID)) }

    private func ids(_ verb: ReplayTransition.Verb) -> [Int64] {
        preview.transitions.filter { $0.verb == verb }.map(\.jobID)
    }

    func lines(options: String) -> [String] {
        let notes = [
            (expired, "would expire"), (reviewed, "would need review"),
        ].filter { !$0.0.isEmpty }.map { "\($1): \(Quantity.numbers($0))" }
        let rest = preview.remaining > 0 ? [", \(preview.remaining) behind"] : []
        return holds.map { $0.note(options: options) } + ["would send \(Quantity.jobs(sent.count)) now\(rest.joined())"]
            + notes
    }

    /// Returns the plan in the JSON of the command.
    func form(sending jobs: [ReplayJob]) -> JSONObject {
        [
            "isHeld": !holds.isEmpty, "sent": jobs.map(\.form), "behind": preview.remaining,
            "waiting": later.map(\.form), "expired": expired, "reviewed": reviewed,
        ]
    }
}
#endif
