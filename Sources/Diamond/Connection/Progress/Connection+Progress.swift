import DiamondSQLite
public import Foundation

/// The progress of a transfer.
extension Connection {
    /// The progress of the transfer over the wire: first the current one, then one as it goes on. The stream ends with
    /// ``states``. A connection that shares its exchange with others reports the progress of that exchange. One that is
    /// answered from the cache stays at its initial progress.
    ///
    /// Progress is coalesced: a slow reader gets only the newest, and always the last. Without a reader nothing is
    /// reported.
    public var progress: AsyncStream<TransferProgress> { watch.observe() }

    /// The progress for Foundation, in bytes of both bodies: for a progress bar, or as part of another `Progress`.
    /// Canceling it cancels the connection. It is made when first asked for, and always the same object.
    ///
    /// It is indeterminate while no length is known. An answer of unknown length behind a body that is sent counts as
    /// one byte. It is complete when the connection has finished, whatever the outcome. It is changed on any thread.
    public var foundationProgress: Progress {
        watch.foundationProgress { [weak self] in self?.cancel() }
    }

    private var watch: ProgressObserver {
        let (watch, meter, isOver) = core.withLock { core in
            if let watch = core.watch { return (watch, nil as TransferMeter?, core.life.isFinished) }
            let watch = ProgressObserver(core.meter)
            core.watch = watch
            return (watch, core.meter, core.life.isFinished)
        }
        if let meter { watch.listen(to: meter) }
        if isOver { watch.close() }
        return watch
    }

    /// Takes an event of a run's exchange.
    func receive(_ event: ExchangeEvent, of run: ConnectionRun) {
        performInCore(announcing: false) { $0.run === run ? $0.life.proceed(event) : .nothing }
        guard case .began(let meter) = event else { return }
        let watch = core.withLock { core -> ProgressObserver? in
            guard core.run === run, core.life.outcome == nil else { return nil }
            core.meter = meter
            // In here, or an earlier run's could come after it.
            core.watch?.follow(meter)
            return core.watch
        }
        watch?.listen(to: meter)
    }
}
