import DiamondSQLite
import Foundation

/// Records the outcomes of a batch's connections, and performs the actions of ``BatchLife``.
///
/// The connections retain the coordinator, and it retains none of them. It continues to work after the batch is
/// released. If the batch is never run, it is freed with the connections.
final class BatchCoordinator: Sendable {
    struct Core {
        var life: BatchLife
        var observers = Listeners<AsyncStream<BatchProgress>.Continuation>()
        var waiters: [Promise<Void>] = []
        var operation: BatchOperation?
        var foundationProgress: Progress?
    }

    // `weak let` needs Swift 6.3.
    private struct Item: Sendable { weak var connection: Connection? }

    let core: Guarded<Core>
    private let items: [Item]
    private let isFailure: @Sendable (Response) -> Bool

    init(_ connections: [Connection], isFailingFast: Bool, isFailure: @escaping @Sendable (Response) -> Bool) {
        self.isFailure = isFailure
        items = connections.map(Item.init)
        core = Guarded(Core(life: BatchLife(count: connections.count, isFailingFast: isFailingFast)))
    }

    // The streams of a batch that is never run end here.
    deinit { for observer in core.withLock({ $0.observers.all }) { observer.finish() } }

    /// Observes the connections. Some may have finished.
    func open(_ connections: [Connection]) {
        for (index, connection) in connections.enumerated() {
            connection.afterCallbacks { [self] outcome in record(outcome, of: index) }
        }
        if connections.isEmpty { report() }
    }

    private func record(_ outcome: ConnectionLife.Outcome, of index: Int) {
        let isFailure = isFailed(outcome)
        let cancelsOthers = core.withLock { core in
            defer { core.yieldProgress() }
            return core.life.end(index, isFailure: isFailure)
        }
        if cancelsOthers { cancel() }
        report()
    }

    private func isFailed(_ outcome: ConnectionLife.Outcome) -> Bool {
        switch outcome {
        case .success(let response): isFailure(response)
        case .failure: true
        }
    }

    // MARK: Reports

    var progress: BatchProgress { core.withLock { $0.life.progress } }

    /// Returns the index of an item by the order in which the items ended: position 0 is the one that ended first.
    /// `nil` if fewer have ended.
    func index(endedAt position: Int) -> Int? {
        core.withLock { $0.life.ended.indices.contains(position) ? $0.life.ended[position] : nil }
    }

    /// Returns when the batch is over. A cancellation does not end the wait.
    func end() async {
        let end = Promise<Void>()
        let isOver = core.withLock { core in
            if !core.life.isOver { core.waiters.append(end) }
            return core.life.isOver
        }
        if !isOver { await end.value() }
    }

    private func report() {
        while let (report, foundationProgress) = core.withLock({ $0.nextReport() }) {
            foundationProgress?.completedUnitCount = Int64(report.completed)
            if report.isEnd { close() }
            core.withLock { $0.life.endReport() }
        }
    }

    /// Reports the end to all observers and waiters, and releases them.
    private func close() {
        let last = core.withLock { core in
            defer {
                core.observers = Listeners()
                core.waiters = []
                core.operation = nil
            }
            return core
        }
        last.operation?.end()
        for observer in last.observers.all { observer.finish() }
        for waiter in last.waiters { waiter.fulfill(with: ()) }
    }

    // MARK: All connections

    var connections: [Connection] { items.compactMap(\.connection) }

    func cancel() { for item in items { item.connection?.cancel() } }

    func pause() {
        core.withLock { $0.life.pause() }
        applyPauses()
    }

    func resume() {
        core.withLock { $0.life.resume() }
        applyPauses()
    }

    /// Pauses or resumes the connections. One thread does so at a time, so that every connection gets the calls in
    /// their order.
    private func applyPauses() {
        while let isPaused = core.withLock({ $0.life.nextPauseChange() }) {
            for item in items { isPaused ? item.connection?.pause() : item.connection?.resume() }
            core.withLock { $0.life.endPauseChange() }
        }
    }
}

extension BatchCoordinator.Core {
    /// Sends the progress to the observers. Yielding runs no code of theirs.
    func yieldProgress() { observers.yield(life.progress) }

    mutating func nextReport() -> (report: BatchLife.Report, foundationProgress: Progress?)? {
        life.nextReport().map { ($0, foundationProgress) }
    }
}
