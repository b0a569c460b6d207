#if Tools
import Diamond
import Foundation

/// The page of one job.
struct JobPage {
    /// A state in the diagram, and where it leads.
    struct Step {
        let name: String
        let meaning: String
        let next: String
        let isCurrent: Bool
    }

    struct DiffLine {
        let isAdded: Bool
        let text: String
    }

    let id: String
    let isWritable: Bool
    /// The result of an action.
    let message: String?
    let isProblem: Bool
    let steps: [Step]
    /// The times that change the state of the job.
    let timers: [NamedValue]
    let facts: [NamedValue]
    let attempts: [FailureRow]
    /// The codes of the failed attempts, with their numbers.
    let errors: [NamedValue]
    let request: String?
    let difference: [DiffLine]
    /// Why the difference is not known.
    private(set) var differenceProblem: String?
    let secrets: [String]
    /// The actions that the state allows.
    let actions: [String]
    let allowsEdit: Bool
    let allowsDiscard: Bool
    let allowsResend: Bool
    /// Why the others are refused.
    let refusals: [String]

    /// - Parameters:
    ///   - difference: The differences of what is stored and what would be sent; an error if they cannot be told.
    ///   - refusals: The reasons why actions are refused.
    ///   - message: The result of an action; `nil` for none.
    init(
        _ text: JobText, difference: Result<JobDifference, PageProblem>?, refusals: [JobRefusal], isWritable: Bool,
        message: String? = nil, isProblem: Bool = false, now: Date = Date()
    ) {
        let job = text.job
        id = String(job.id)
        self.isWritable = isWritable
        self.message = message?.withoutControls
        self.isProblem = isProblem
        steps = Self.steps(at: job.state)
        timers = Self.timers(of: job, now: now)
        facts = text.facts.map { NamedValue(name: $0.name, value: $0.value.withoutControls) }
        attempts = text.failures.map { FailureRow($0) }
        errors = Self.kinds(of: text.failures)
        request = text.request.map { Output.text(of: $0, isPretty: true) }
        let found = try? difference?.get()
        self.difference = DiffLine.all(of: found?.lines)
        secrets = found?.secretLines ?? []
        if case .failure(let problem) = difference { differenceProblem = problem.message }
        let allowed = ReplayAction.allCases.filter { $0.allowedStates.contains(job.state) }
        actions = allowed.filter { $0 != .discard }.map(\.rawValue)
        allowsDiscard = allowed.contains(.discard)
        allowsResend = job.state == .done && text.request != nil
        allowsEdit = ![.running, .done].contains(job.state) && text.request != nil
        self.refusals = refusals.map(\.message.withoutControls)
    }

    /// The states, in the order of a job that is sent, and then the others.
    private static func steps(at current: ReplayState) -> [Step] {
        func step(_ state: ReplayState, _ meaning: String, next: String = "") -> Step {
            Step(name: state.description, meaning: meaning, next: next, isCurrent: state == current)
        }
        return [
            step(.waiting, "waits for its time", next: "at its time, or by retry: ready"),
            step(.held, "held itself, or with its key, identity or lane", next: "by release: ready or waiting"),
            step(.ready, "can be sent", next: "when it is claimed: running"),
            step(.running, "being sent", next: "done; after a failure waiting, dead or needsReview"),
            step(.done, "sent, or discarded"),
            step(.dead, "failed or expired", next: "by redrive: ready"),
            step(.needsReview, "may have been processed", next: "by redrive: ready; by discard: done"),
        ]
    }

    private static func timers(of job: ReplayJob, now: Date) -> [NamedValue] {
        let isUnsent = [.ready, .waiting, .held].contains(job.state)
        let times: [(name: String, time: Date?)] = [
            (job.attempts > 0 ? "retry at" : "sent at", job.state == .waiting ? job.runAt : nil),
            ("expires at", isUnsent ? job.expiresAt : nil),
        ]
        let lease = NamedValue(name: "lease ends at", value: "60s after its program renews it for the last time")
        return times.compactMap { name, time in time.map { NamedValue(name: name, value: text(of: $0, now: now)) } }
            + (job.state == .running ? [lease] : [])
    }

    private static func text(of time: Date, now: Date) -> String {
        let rest = time > now ? "in \(Quantity.age(time, since: now))" : "\(Quantity.age(now, since: time)) ago"
        return "\(Quantity.instant(time)), \(rest)"
    }

    private static func kinds(of failures: [ReplayFailure]) -> [NamedValue] {
        Dictionary(grouping: failures, by: \.code).sorted { ($1.value.count, $0.key) < ($0.value.count, $1.key) }
            .map { NamedValue(name: $0.withoutControls, value: String($1.count)) }
    }
}

extension JobPage.DiffLine {
    /// Returns the lines of a difference; none without one.
    static func all(of difference: LineDifference?) -> [JobPage.DiffLine] {
        (difference?.lines(isNumbered: false) ?? []).map {
            JobPage.DiffLine(isAdded: $0.hasPrefix("+"), text: $0.withoutControls)
        }
    }
}
#endif
