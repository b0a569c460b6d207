/// A source of the network's reachability. An attempt that fails while the network is unreachable does not count.
public protocol Reachability: Sendable {
    /// Whether the network may be reached. It is read after a failure, and must return at once.
    var isReachable: Bool { get }

    /// A sequence with an element whenever reachability may have changed. Then the jobs that wait for the network are
    /// sent. Each call returns its own sequence. The default sequence is empty: jobs that wait for the network are
    /// tried again after a minute.
    var changes: AsyncStream<Void> { get }
}

extension Reachability {
    /// An empty sequence.
    public var changes: AsyncStream<Void> { AsyncStream { $0.finish() } }
}
