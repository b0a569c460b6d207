public import Foundation

/// A claimed job, to be sent by the owner that has claimed it.
public struct ReplayClaim: Hashable, Sendable {
    /// The job.
    public let id: ReplayJob.ID
    /// The fencing token. The claim is over once the job has a higher one.
    public let token: Int64
    /// The request (``ReplayDraft/request``).
    public let request: Data

    /// Creates a claim from its parts.
    public init(id: ReplayJob.ID, token: Int64, request: Data) {
        self.id = id
        self.token = token
        self.request = request
    }
}

/// The result of a claim.
public struct ReplayClaims: Hashable, Sendable {
    /// The claimed jobs, in the order in which they are sent.
    public var jobs: [ReplayClaim]
    /// Whether no job was claimed, but there may be more: many were held, or need review.
    public var isMore: Bool
    /// The new states, dead or in review, of jobs that the claim has ended.
    public var ends: [ReplayState]

    /// Creates a result.
    public init(_ jobs: [ReplayClaim], isMore: Bool = false, ends: [ReplayState] = []) {
        self.jobs = jobs
        self.isMore = isMore
        self.ends = ends
    }
}

/// The jobs that a claim considers.
public struct ReplaySelection: Hashable, Sendable {
    /// The identities whose jobs may be claimed.
    public enum Identities: Hashable, Sendable {
        /// The jobs of all identities.
        case all
        /// The jobs of these identities, and the jobs without an identity.
        case only(Set<String>)
    }

    /// The lanes whose jobs may be claimed.
    public enum Lanes: Hashable, Sendable {
        /// The jobs of all lanes.
        case all
        /// The jobs of all lanes but these.
        case allBut(Set<Lane>)
        /// No jobs.
        case none

        /// Whether the jobs of a lane may be claimed.
        public func contains(_ lane: Lane) -> Bool {
            switch self {
            case .all: true
            case .allBut(let paused): !paused.contains(lane)
            case .none: false
            }
        }
    }

    /// The identities whose jobs may be claimed.
    public var identities: Identities
    /// The lanes whose jobs may be claimed.
    public var lanes: Lanes

    /// Creates a selection, of all jobs by default.
    public init(_ identities: Identities = .all, in lanes: Lanes = .all) {
        self.identities = identities
        self.lanes = lanes
    }
}

/// The start of an attempt.
public struct ReplayStart: Hashable, Sendable {
    /// The earlier exchange that may have been processed, if the job continues after one; `nil` for none.
    var earlier: ReplayRow.EarlierExchange?
    /// Whether the exchange continues one that was sent. Then no hold and no expiry ends it.
    public var isUnderWay: Bool

    /// Creates a start, of a first exchange by default.
    public init(isUnderWay: Bool = false) { self.init(after: nil, isUnderWay: isUnderWay) }

    /// Creates a start after an earlier exchange; `nil` for none.
    init(after earlier: ReplayRow.EarlierExchange?, isUnderWay: Bool = false) {
        self.earlier = earlier
        self.isUnderWay = isUnderWay
    }
}

/// The result of sending a job, for its row.
public struct ReplayReport: Sendable {
    /// The outcome of the attempt.
    let outcome: ReplayOutcome
    /// The answer to store if it ends the job; `nil` for none.
    public let answer: ReplayAnswer?
    /// The start of the first exchange that may have been processed with an unknown outcome; `nil` for none.
    let unknownSince: QueueTime?
    /// A random number from 0 up to 1, for the wait.
    let draw: Double
    /// Returns whether a caller gets the outcome, even if it ends the job without success. Called in the transaction.
    let isDelivered: @Sendable () -> Bool

    /// Creates a report.
    public init(
        _ outcome: ReplayOutcome,
        answer: ReplayAnswer? = nil,
        unknownSince: QueueTime? = nil,
        draw: Double,
        isDelivered: @escaping @Sendable () -> Bool = { false }
    ) {
        self.outcome = outcome
        self.answer = answer
        self.unknownSince = unknownSince
        self.draw = draw
        self.isDelivered = isDelivered
    }
}
