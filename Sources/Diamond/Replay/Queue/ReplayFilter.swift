public import Foundation

/// A filter of jobs. A job has to match every property that is set. If none is set, all jobs match, except those of
/// identities that have signed out (``includesSignedOut``).
public struct ReplayFilter: Hashable, Sendable {
    /// The states of the jobs; empty for all states.
    public var states: Set<ReplayState>
    /// The ordering key of the jobs.
    public var orderingKey: String?
    /// The identity on whose behalf the jobs are sent.
    public var identity: String?
    /// The host of the jobs, with its port if the URL names one. Case is ignored.
    public var host: String?
    /// A tag of the jobs' requests.
    public var tag: String?
    /// The lane of the jobs.
    public var lane: Lane?
    /// The time before which the jobs were added.
    public var enqueuedBefore: Date?
    /// Whether jobs of identities that have signed out (``Engine/forget(identity:discardingJobs:)``) match, too, until
    /// the identity is released. Default: `false`, so that no user sees the jobs of another. They always match a filter
    /// whose ``identity`` is theirs.
    public var includesSignedOut: Bool

    /// Creates a filter that requires all the given values.
    public init(
        states: Set<ReplayState> = [],
        orderingKey: String? = nil,
        identity: String? = nil,
        host: String? = nil,
        tag: String? = nil,
        lane: Lane? = nil,
        enqueuedBefore: Date? = nil,
        includesSignedOut: Bool = false
    ) {
        self.states = states
        self.orderingKey = orderingKey
        self.identity = identity
        self.host = host
        self.tag = tag
        self.lane = lane
        self.enqueuedBefore = enqueuedBefore
        self.includesSignedOut = includesSignedOut
    }
}
