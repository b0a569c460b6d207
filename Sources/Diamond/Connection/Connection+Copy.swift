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
    /// The copy fails with `noEngine` if the connection has no engine, or the engine was deallocated, and with `noCopy`
    /// if the connection's class does not override ``copied()``.
    @discardableResult
    public func retry() -> Connection {
        let copy = copied()
        copy.runByOwnEngine()
        return copy
    }

    /// Copies the engine and the settings to a new connection, as the table of ``copied()`` lists them.
    ///
    /// - Returns: the new connection.
    public final func copySettings<Copy: Connection>(to copy: Copy) -> Copy {
        let (registry, file) = core.withLock { ($0.weakRegistry, $0.file?.url) }
        if let registry { copy.setRegistry(registry) }
        if let file { copy.write(to: file) }
        copy.failedDependencies = failedDependencies
        copy.name = name
        copy.qualityOfService = qualityOfService
        copy.queuePriority = queuePriority
        return copy
    }
}

extension ConnectionError {
    init(noCopyOf type: Connection.Type) {
        self.init(.noCopy, "a connection of the class \(type) cannot be copied: override copied() there")
    }
}
