/// A source of the network's reachability. An attempt that fails while the network is away does not count.
public protocol Reachability: Sendable {
    /// Whether anything may be reached. Asked after a failure; answer at once.
    var isReachable: Bool { get }

    /// A sequence with an element whenever reachability may have changed. The jobs that wait for the network are then
    /// sent. Each call returns its own sequence. The default sequence is empty: waiting jobs are tried again after a
    /// minute.
    var changes: AsyncStream<Void> { get }
}

extension Reachability {
    /// Tells nothing, and ends at once.
    public var changes: AsyncStream<Void> { AsyncStream { $0.finish() } }
}
