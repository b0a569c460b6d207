public import Foundation

/// Which jobs are meant: those that are all that is said. Nothing said means all.
public struct ReplayFilter: Hashable, Sendable {
    /// Those in a state.
    public var state: ReplayState?
    /// Those of an ordering key.
    public var orderingKey: String?
    /// Those on behalf of an identity.
    public var identity: String?
    /// With its port, where the URL names one; in any case.
    public var host: String?
    /// Those whose requests have the tag.
    public var tag: String?
    /// Those that were added before an instant.
    public var enqueuedBefore: Date?

    /// Those for which all that is given holds.
    public init(
        state: ReplayState? = nil,
        orderingKey: String? = nil,
        identity: String? = nil,
        host: String? = nil,
        tag: String? = nil,
        enqueuedBefore: Date? = nil
    ) {
        self.state = state
        self.orderingKey = orderingKey
        self.identity = identity
        self.host = host
        self.tag = tag
        self.enqueuedBefore = enqueuedBefore
    }
}
