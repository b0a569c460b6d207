import DiamondSQLite
import Foundation

/// Repeating a connection.
extension Connection {
    /// Runs a copy, as ``copied()`` makes it, by the same engine, and returns it. The connection itself stays as it is.
    /// If it has not finished, it goes on in parallel with its copy. So does the job of a connection that is durable or
    /// has ended as `queued`: the copy sends the request once more, with an `Idempotency-Key` of its own. Where once is
    /// enough, wait for the job (``ReplayQueue/end(of:)``), or discard it before (``ReplayQueue/discard(_:)``).
    ///
    /// Without an engine, or once that is gone, the copy fails with `noEngine`.
    @discardableResult
    public func retry() -> Self {
        let copy = copied()
        if let maker = copy.core.withLock({ $0.home }) { maker.enqueue(copy) } else { copy.start() }
        return copy
    }

    /// Copies the settings that ``copied()`` takes along by itself.
    func takeSettings(of other: Connection) {
        let (maker, file) = other.core.withLock { ($0.maker, $0.file?.url) }
        if let maker { belong(to: maker) }
        if let file { write(to: file) }
        failedDependencies = other.failedDependencies
        (name, qualityOfService) = (other.name, other.qualityOfService)
        queuePriority = other.queuePriority
    }
}
