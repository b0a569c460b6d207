/// The state of a job.
///
/// ```
/// ready ──claim──> running ──finish──> done
///   ^                 │ fail
///   └── waiting <─────┼──> dead, needsReview ──redrive──> ready
///          held <─────┘
/// ```
///
/// Later versions may add states: a `switch` needs an `@unknown default`.
#if hasAttribute(nonexhaustive)
@nonexhaustive
#endif
public enum ReplayState: Int, Hashable, Sendable, CaseIterable {
    /// The job may be sent now, after the earlier jobs of its ordering key.
    case ready
    /// The job waits for its time: it was added for later, or it failed and is tried again.
    case waiting
    /// The job is being sent.
    case running
    /// The job is held until it, its key, its identity or its lane is released.
    case held
    /// The job is finished or discarded, or was refused and its caller has the answer.
    case done
    /// The job will not be sent any more, unless it is redriven.
    case dead
    /// The job may have been processed, and sending it again could do harm: a person has to decide.
    case needsReview

    /// Creates the state with a name, such as `needsReview`; `nil` for an unknown name.
    public init?(_ name: String) {
        guard let state = Self.allCases.first(where: { $0.description == name }) else { return nil }
        self = state
    }

    /// Whether the state is final unless the job is redriven or discarded: done, dead or in review.
    public var isEnd: Bool { rawValue >= Self.done.rawValue }
}

extension ReplayState: CustomStringConvertible {
    public var description: String {
        switch self {
        case .ready: "ready"
        case .waiting: "waiting"
        case .running: "running"
        case .held: "held"
        case .done: "done"
        case .dead: "dead"
        case .needsReview: "needsReview"
        }
    }
}
