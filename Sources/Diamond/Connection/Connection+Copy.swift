import DiamondSQLite
import Foundation

/// Copies of a connection.
extension Connection {
    /// Creates a copy with ``copied()``, runs it by the same engine, and returns it. The connection itself does not
    /// change. If it has not finished, it runs in parallel with its copy.
    ///
    /// If the connection has a job in the queue, because it is durable or has ended as `queued`, the job stays. The
    /// copy sends the request once more, with an `Idempotency-Key` of its own. To send it only once, wait for the job
    /// (``ReplayQueue/end(of:)``), or discard it first (``ReplayQueue/discard(_:)``).
    ///
    /// The copy fails with `noEngine` if the connection has no engine, or the engine was deallocated.
    @discardableResult
    public func retry() -> Self {
        let copy = copied()
        if let registry = copy.core.withLock({ $0.registry }) { registry.enqueue(copy) } else { copy.start() }
        return copy
    }

    /// Copies the settings of another connection that ``copied()`` copies.
    func copySettings(from other: Connection) {
        let (registry, file) = other.core.withLock { ($0.weakRegistry, $0.file?.url) }
        if let registry { setRegistry(registry) }
        if let file { write(to: file) }
        failedDependencies = other.failedDependencies
        name = other.name
        qualityOfService = other.qualityOfService
        queuePriority = other.queuePriority
    }
}
