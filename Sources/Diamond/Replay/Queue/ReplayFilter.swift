public import Foundation

/// Which jobs are meant: those that are all that is said. Nothing said means all.
public struct ReplayFilter: Hashable, Sendable {
    public var state: ReplayState?
    public var orderingKey: String?
    public var identity: String?
    /// With its port, where the URL names one.
    public var host: String?
    public var tag: String?
    public var enqueuedBefore: Date?

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
