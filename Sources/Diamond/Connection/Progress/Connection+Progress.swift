import DiamondSQLite
public import Foundation

/// How far a transfer is.
extension Connection {
    /// How far it is over the wire, first now, then as it goes on; ends with ``states``. A connection that shares its exchange
    /// with others tells how far that is; one that is answered from the cache stays where it began.
    ///
    /// Coalesced: who looks seldom sees the last only, and that always. Where nobody asks, nothing is told.
    public var progress: AsyncStream<TransferProgress> { watch.observe() }

    /// The same for Foundation, in bytes of both bodies: for a progress bar, or as part of another `Progress`. Canceling it
    /// cancels the connection. Made when first asked for, and always the same.
    ///
    /// Indeterminate while nothing is known of a length; an answer of unknown length behind a body that is sent counts as one
    /// byte. Complete when the connection has finished, whatever has become of it. Changed on any thread.
    public var foundationProgress: Progress {
        watch.foundationProgress { [weak self] in self?.cancel() }
    }

    private var watch: TransferWatch {
        let (watch, meter, isOver) = core.withLock { core in
            if let watch = core.watch { return (watch, nil as TransferMeter?, core.life.isFinished) }
            let watch = TransferWatch(core.meter)
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
        let watch = core.withLock { core -> TransferWatch? in
            guard core.run === run, core.life.outcome == nil else { return nil }
            core.meter = meter
            // In here, or an earlier run's could come after it.
            core.watch?.follow(meter)
            return core.watch
        }
        watch?.listen(to: meter)
    }
}
