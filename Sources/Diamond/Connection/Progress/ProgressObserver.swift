import DiamondSQLite
import Foundation

/// The observers of a connection's progress, and the progress reported to them; made when the first one asks.
///
/// One of the system's threads at a time changes Foundation's `Progress`, never within the call that brings the news:
/// its observers may call whatever they like.
final class ProgressObserver: Sendable {
    fileprivate struct State {
        var meter: TransferMeter?
        var progress = TransferProgress()
        var observers = Listeners<AsyncStream<TransferProgress>.Continuation>()
        var isOver = false
        var foundationProgress: Progress?
        /// Whether what Foundation was told last is not the last.
        var hasNews = false
        var isTelling = false
    }

    private let state: Guarded<State>

    /// - Parameter meter: of the attempt that is on its way.
    init(_ meter: TransferMeter?) { state = Guarded(State(meter: meter)) }

    // MARK: The transfer

    /// Makes the meter of the next attempt the current one. Calls no observer.
    func follow(_ meter: TransferMeter) { state.withLock { $0.meter = meter } }

    /// Looks at once, and as it goes on.
    func listen(to meter: TransferMeter) {
        meter.listen { [weak self] in self?.look() }
        look()
    }

    /// Under the lock: of two that look, the second must not tell what the first has seen.
    private func look() {
        let mustTell = state.withLock { state in
            guard !state.isOver, let progress = state.meter?.progress, progress != state.progress else {
                return false
            }
            state.progress = progress
            state.observers.yield(progress)
            return state.announce()
        }
        if mustTell { tell() }
    }

    /// Ends the observation of a connection that has finished.
    func close() {
        look()
        let (observers, mustTell) = state.withLock { state in
            defer { (state.meter, state.isOver) = (nil, true) }
            return (state.observers.removeAll(), state.isOver ? false : state.announce())
        }
        for observer in observers { observer.finish() }
        if mustTell { tell() }
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

    /// - Returns: `nil` where there is nothing more to be told.
    private func add(_ observer: AsyncStream<TransferProgress>.Continuation) -> Int? {
        state.withLock { state in
            observer.yield(state.progress)
            guard !state.isOver else { return nil }
            return state.observers.add(observer)
        }
    }

    // MARK: Foundation

    /// - Parameter cancel: what canceling it does.
    func foundationProgress(cancel: @escaping @Sendable () -> Void) -> Progress {
        state.withLock { state in
            if let progress = state.foundationProgress { return progress }
            let progress = Progress.discreteProgress(totalUnitCount: -1)
            progress.cancellationHandler = cancel
            (progress.totalUnitCount, progress.completedUnitCount) = state.units
            state.foundationProgress = progress
            return progress
        }
    }

    private func tell() {
        CallbackExecutor.global.call { [self] in
            while let (progress, units) = state.withLock({ $0.news() }) {
                (progress.totalUnitCount, progress.completedUnitCount) = units
            }
        }
    }
}

extension ProgressObserver.State {
    /// - Returns: whether a thread has to be started that tells Foundation.
    fileprivate mutating func announce() -> Bool {
        guard foundationProgress != nil else { return false }
        defer { (hasNews, isTelling) = (true, true) }
        return !isTelling
    }

    /// - Returns: `nil` where all has been told.
    fileprivate mutating func news() -> (Progress, (total: Int64, completed: Int64))? {
        guard let foundationProgress, hasNews else {
            isTelling = false
            return nil
        }
        hasNews = false
        return (foundationProgress, units)
    }

    /// In Foundation's terms: a total of -1 is one that is not known, or more than there are numbers for.
    fileprivate var units: (total: Int64, completed: Int64) {
        if isOver {
            return (max(1, progress.sent + progress.received), max(1, progress.sent + progress.received))
        }
        guard let toSend = progress.expectedToSend else {
            return (-1, progress.sent + progress.received)
        }
        let toReceive = progress.expectedToReceive
        guard toSend > 0 || toReceive != nil else { return (-1, progress.received) }
        // What a server says of its answer may be any number.
        let (total, isTooLarge) = toSend.addingReportingOverflow(toReceive ?? 1)
        return (isTooLarge ? -1 : max(1, total), progress.sent + (toReceive == nil ? 0 : progress.received))
    }
}
