import DiamondSQLite
public import Foundation

/// The progress of the transfer.
extension Connection {
    /// The progress of the transfer over the wire: first the current value, then its changes. The stream ends with
    /// ``states``. A connection that shares its exchange with others reports the progress of that exchange. A
    /// connection that the cache answers stays at its initial progress. Observing starts nothing, as for ``states``.
    ///
    /// Progress is coalesced: a slow reader gets only the newest value, and always the last. Without a reader nothing
    /// is reported.
    public var progress: AsyncStream<TransferProgress> { progressObserver.observe() }

    /// The progress for Foundation, in bytes of both bodies: for a progress bar, or as part of another `Progress`.
    /// Canceling it cancels the connection. It is created on first use, and is always the same object.
    ///
    /// It is indeterminate while no length is known. A response of unknown length to a request with a body counts as
    /// one byte. It is complete when the connection has finished, whatever the outcome. It changes on any thread.
    public var foundationProgress: Progress {
        progressObserver.foundationProgress { [weak self] in self?.cancel() }
    }

    private var progressObserver: ProgressObserver {
        let (observer, meter, isOver) = core.withLock { core in
            if let observer = core.progressObserver { return (observer, nil as TransferMeter?, core.life.isFinished) }
            let observer = ProgressObserver(core.meter)
            core.progressObserver = observer
            return (observer, core.meter, core.life.isFinished)
        }
        if let meter { observer.listen(to: meter) }
        if isOver { observer.close() }
        return observer
    }

    /// Applies an event of a run's exchange.
    func receive(_ event: ExchangeEvent, of run: ConnectionRun) {
        performInCore(notifyingKVO: false) { $0.run === run ? $0.life.proceed(event) : .nothing }
        guard case .began(let meter) = event else { return }
        let observer = core.withLock { core -> ProgressObserver? in
            guard core.run === run, core.life.outcome == nil else { return nil }
            core.meter = meter
            // Under the lock, so that an earlier run's meter cannot replace it.
            core.progressObserver?.follow(meter)
            return core.progressObserver
        }
        observer?.listen(to: meter)
    }
}
