import DiamondSQLite
public import Foundation

/// The progress of a batch.
extension Batch {
    /// The progress of the batch: first the current value, then its changes. The stream ends when the batch is over.
    /// Observing starts nothing.
    ///
    /// Progress is coalesced: a slow reader gets only the newest value, and always the last.
    public var progress: AsyncStream<BatchProgress> { coordinator.observe() }

    /// The progress for Foundation, in items: for a progress bar, or as part of another `Progress`. Canceling it
    /// cancels the batch. It is created on first use, and is always the same object. An empty batch counts as one item
    /// that has ended, because a `Progress` without units never finishes.
    ///
    /// It changes on any thread.
    public var foundationProgress: Progress { coordinator.foundationProgress() }

    /// An operation that finishes when the batch is over, for other operations and connections to depend on. They run
    /// whatever the results of the items are. Do not add it to a queue. Canceling it cancels the batch. Its
    /// `dependencies` are the connections: a connection that depends on its own batch fails with `dependencyCycle`.
    public var operation: Operation { coordinator.operation() }
}

extension BatchCoordinator {
    fileprivate func observe() -> AsyncStream<BatchProgress> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            guard let number = add(continuation) else { return continuation.finish() }
            continuation.onTermination = { [weak self] _ in
                _ = self?.core.withLock { $0.observers.remove(number) }
            }
        }
    }

    /// - Returns: the number of the observer; `nil` if the batch is over and no progress follows.
    private func add(_ observer: AsyncStream<BatchProgress>.Continuation) -> Int? {
        core.withLock { core in
            observer.yield(core.life.progress)
            guard !core.life.isOver else { return nil }
            return core.observers.add(observer)
        }
    }

    fileprivate func foundationProgress() -> Progress {
        core.withLock { core in
            let progress = core.foundationProgress ?? newProgress(core.life.progress)
            core.foundationProgress = progress
            return progress
        }
    }

    private func newProgress(_ now: BatchProgress) -> Progress {
        let progress = Progress.discreteProgress(totalUnitCount: Int64(max(1, now.count)))
        progress.completedUnitCount = Int64(now.count == 0 ? 1 : now.completed)
        progress.cancellationHandler = { [weak self] in self?.cancel() }
        return progress
    }

    fileprivate func operation() -> BatchOperation {
        let (operation, isOver) = core.withLock { core in
            let operation = core.operation ?? BatchOperation(self)
            core.operation = core.life.isOver ? nil : operation
            return (operation, core.life.isOver)
        }
        if isOver { operation.end() }
        return operation
    }
}
