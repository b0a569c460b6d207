#if Tools
import Diamond

/// The plan of a replayer for now.
struct ReplayPlan {
    var preview: ReplayQueue.ClaimPreview
    var waiting: [ReplayJob]
    /// The holds under which nothing is sent.
    var holds: [HoldForm]

    /// In the order in which they are sent.
    var sent: [Int64] { ids(.claim) }
    var expired: [Int64] { ids(.expire) }
    /// The jobs that must not be sent without a review.
    var reviewed: [Int64] { ids(.fail) }
    /// The jobs whose time has not come.
    var later: [ReplayJob] { waiting.filter { !gone.contains($0.id) } }

    private var gone: Set<Int64> { Set(preview.transitions.map(\.jobID)) }

    private func ids(_ verb: ReplayTransition.Verb) -> [Int64] {
        preview.transitions.filter { $0.verb == verb }.map(\.jobID)
    }

    func lines(in place: PlaceOptions) -> [String] {
        let notes = [
            (expired, "would end as expired"), (reviewed, "would go to review"),
        ].filter { !$0.0.isEmpty }.map { "\($1): \(Quantity.numbers($0))" }
        let rest = preview.remaining > 0 ? [", \(preview.remaining) behind"] : []
        return holds.map { $0.note(in: place) } + ["would send \(Quantity.jobs(sent.count)) now\(rest.joined())"]
            + notes
    }
}

/// The form of `queue replay --dry-run --json`.
struct PlanForm: Encodable {
    var isHeld: Bool
    var sent: [JobForm]
    var behind: Int
    var waiting: [JobForm]
    var expired: [Int64]
    var reviewed: [Int64]

    init(_ plan: ReplayPlan, _ jobs: [ReplayJob]) {
        (isHeld, sent, behind) = (!plan.holds.isEmpty, jobs.map(JobForm.init), plan.preview.remaining)
        (waiting, expired, reviewed) = (plan.later.map(JobForm.init), plan.expired, plan.reviewed)
    }
}
#endif
