import DiamondSQLite
import Foundation

/// Doing the same once more.
extension Connection {
    /// Runs a copy, as ``copied()`` makes it, by the same engine, and returns it. The connection itself stays as it is: one
    /// that has not finished goes on beside its copy, and so does the job of one that is durable, or has come to `queued`: the
    /// copy asks once more, with an `Idempotency-Key` of its own. Where once is enough, wait for the job
    /// (``ReplayQueue/end(of:)``), or discard it before (``ReplayQueue/discard(_:)``).
    ///
    /// Without an engine, or once that is gone, the copy fails with `noEngine`.
    @discardableResult
    public func retry() -> Self {
        let copy = copied()
        if let maker = copy.core.withLock({ $0.home }) { maker.enqueue(copy) } else { copy.start() }
        return copy
    }

    /// What ``copied()`` takes along of its own accord.
    func takeSettings(of other: Connection) {
        let (maker, file) = other.core.withLock { ($0.maker, $0.file?.url) }
        if let maker { belong(to: maker) }
        if let file { write(to: file) }
        failedDependencies = other.failedDependencies
        (name, qualityOfService) = (other.name, other.qualityOfService)
        queuePriority = other.queuePriority
    }
}
