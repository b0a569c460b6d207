import DiamondSQLite
import Foundation

/// Reports the progress of a connection to its observers. Created for the first of them.
///
/// One system thread at a time changes Foundation's `Progress`, asynchronously, because observers of the `Progress` may
/// call anything.
final class ProgressObserver: Sendable {
    fileprivate struct State {
        var meter: TransferMeter?
        var progress = TransferProgress()
        var observers = Listeners<AsyncStream<TransferProgress>.Continuation>()
        var isOver = false
        var foundationProgress: Progress?
        /// Whether the `Progress` is out of date.
        var needsUpdate = false
        /// Whether a thread is updating the `Progress`.
        var isUpdating = false
    }

    private let state: Guarded<State>

    /// - Parameter meter: the meter of the current attempt.
    init(_ meter: TransferMeter?) { state = Guarded(State(meter: meter)) }

    // MARK: The transfer

    /// Sets the meter of the next attempt. Calls no observer.
    func follow(_ meter: TransferMeter) { state.withLock { $0.meter = meter } }

    /// Reports the progress of a meter now, and whenever it changes.
    func listen(to meter: TransferMeter) {
        meter.listen { [weak self] in self?.reportMeter() }
        reportMeter()
    }

    /// Reports the current progress of the meter. It is read under the lock, so that no thread reports an older value
    /// after a newer one.
    private func reportMeter() {
        let startsUpdate = state.withLock { state in
            guard !state.isOver, let progress = state.meter?.progress, progress != state.progress else {
                return false
            }
            state.progress = progress
            state.observers.yield(progress)
            return state.requestUpdate()
        }
        if startsUpdate { updateFoundationProgress() }
    }

    /// Ends the observation of a connection that has finished.
    func close() {
        reportMeter()
        let (observers, startsUpdate) = state.withLock { state in
            defer {
                state.meter = nil
                state.isOver = true
            }
            return (state.observers.removeAll(), state.isOver ? false : state.requestUpdate())
        }
        for observer in observers { observer.finish() }
        if startsUpdate { updateFoundationProgress() }
    }

    // MARK: Observers

    func observe() -> AsyncStream<TransferProgress> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            guard let number = add(continuation) else { return continuation.finish() }
            continuation.onTermination = { [weak self] _ in
                _ = self?.state.withLock { $0.observers.remove(number) }
            }
        }
    }

    /// - Returns: the number of the observer; `nil` if no progress follows.
    private func add(_ observer: AsyncStream<TransferProgress>.Continuation) -> Int? {
        state.withLock { state in
            observer.yield(state.progress)
            guard !state.isOver else { return nil }
            return state.observers.add(observer)
        }
    }

    // MARK: Foundation

    /// Returns the progress for Foundation, created on first use.
    ///
    /// - Parameter cancel: called when the `Progress` is canceled.
    func foundationProgress(cancel: @escaping @Sendable () -> Void) -> Progress {
        state.withLock { state in
            if let progress = state.foundationProgress { return progress }
            let progress = Progress.discreteProgress(totalUnitCount: -1)
            progress.cancellationHandler = cancel
            progress.set(state.units)
            state.foundationProgress = progress
            return progress
        }
    }

    private func updateFoundationProgress() {
        CallbackExecutor.global.call { [self] in
            while let (progress, units) = state.withLock({ $0.nextUpdate() }) {
                progress.set(units)
            }
        }
    }
}

extension ProgressObserver.State {
    /// Marks the `Progress` as out of date.
    ///
    /// - Returns: whether the caller has to start an update.
    fileprivate mutating func requestUpdate() -> Bool {
        guard foundationProgress != nil else { return false }
        defer { isUpdating = true }
        needsUpdate = true
        return !isUpdating
    }

    /// - Returns: the `Progress` and its new values; `nil` if it is up to date.
    fileprivate mutating func nextUpdate() -> (progress: Progress, units: UnitCounts)? {
        guard let foundationProgress, needsUpdate else {
            isUpdating = false
            return nil
        }
        needsUpdate = false
        return (foundationProgress, units)
    }

    /// The progress in Foundation's unit counts. A total of -1 is unknown, or too large for an `Int64`.
    fileprivate var units: UnitCounts {
        let moved = progress.sent + progress.received
        if isOver { return UnitCounts(total: max(1, moved), completed: max(1, moved)) }
        guard let toSend = progress.expectedToSend else { return UnitCounts(total: -1, completed: moved) }
        let toReceive = progress.expectedToReceive
        guard toSend > 0 || toReceive != nil else { return UnitCounts(total: -1, completed: progress.received) }
        // A server may announce any number as the length.
        let (total, isTooLarge) = toSend.addingReportingOverflow(toReceive ?? 1)
        return UnitCounts(
            total: isTooLarge ? -1 : max(1, total),
            completed: progress.sent + (toReceive == nil ? 0 : progress.received))
    }
}

/// The unit counts of Foundation's `Progress`.
private struct UnitCounts {
    let total: Int64
    let completed: Int64
}

extension Progress {
    fileprivate func set(_ units: UnitCounts) {
        totalUnitCount = units.total
        completedUnitCount = units.completed
    }
}
