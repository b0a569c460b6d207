/// Knows whether the network is there: an attempt that fails while it is not costs a job nothing.
public protocol Reachability: Sendable {
    /// Whether anything may be reached. Asked after a failure; answer at once.
    var isReachable: Bool { get }

    /// An element whenever that may have changed: what waits for the network is then sent. Each call brings a sequence of its
    /// own. By default an empty one: what waits is tried again after a minute.
    var changes: AsyncStream<Void> { get }
}

extension Reachability {
    /// Tells nothing, and ends at once.
    public var changes: AsyncStream<Void> { AsyncStream { $0.finish() } }
}
