/// Where a job stands.
///
/// ```
/// ready ──claim──> running ──finish──> done
///   ^                 │ fail
///   └── waiting <─────┼──> dead, needsReview ──redrive──> ready
///          held <─────┘
/// ```
///
/// New ones may come: a `switch` needs an `@unknown default`.
#if hasAttribute(nonexhaustive)
@nonexhaustive
#endif
public enum ReplayState: Int, Hashable, Sendable, CaseIterable {
    /// It may be sent now, when those before it in its line have been.
    case ready
    /// For its time: it was added for later, or failed and is tried again.
    case waiting
    /// Somebody sends it.
    case running
    /// Until it, its key, its identity or its lane is released.
    case held
    /// Finished or discarded.
    case done
    /// It will not be sent any more, unless somebody redrives it.
    case dead
    /// It may have been processed, and a second time could do harm: a person has to look.
    case needsReview

    /// By its name, such as `needsReview`.
    public init?(_ name: String) {
        guard let state = Self.allCases.first(where: { $0.description == name }) else { return nil }
        self = state
    }

    /// Whether nothing happens to it any more by itself.
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
