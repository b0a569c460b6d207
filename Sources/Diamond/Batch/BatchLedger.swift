import DiamondSQLite
import Foundation

/// The record to which the connections of a batch report; it does what ``BatchLife`` says.
///
/// The connections keep the ledger, and it keeps none of them. A batch that is dropped is still reported to, failing
/// fast included. A batch that is never run is freed with its connections.
final class BatchLedger: Sendable {
    struct State {
        var life: BatchLife
        var observers = Listeners<AsyncStream<BatchProgress>.Continuation>()
        var waiters: [Promise<Void>] = []
        var operation: BatchOperation?
        var foundationProgress: Progress?
    }

    // `weak let` would be of Swift 6.3.
    private struct Item: Sendable { weak var connection: Connection? }

    let isFailingFast: Bool
    let state: Guarded<State>
    private let items: [Item]
    private let isFailure: @Sendable (Response) -> Bool

    init(_ connections: [Connection], isFailingFast: Bool, isFailure: @escaping @Sendable (Response) -> Bool) {
        self.isFailingFast = isFailingFast
        self.isFailure = isFailure
        items = connections.map(Item.init)
        state = Guarded(State(life: BatchLife(count: connections.count, isFailingFast: isFailingFast)))
    }

    // A batch that is never run ends for nobody, but who observes it is not kept.
    deinit { for observer in state.withLock({ $0.observers.all }) { observer.finish() } }

    /// Follows the connections; some may have finished.
    func open(_ connections: [Connection]) {
        for (index, connection) in connections.enumerated() {
            connection.afterCallbacks { [self] outcome in record(outcome, of: index) }
        }
        if connections.isEmpty { tell() }
    }

    private func record(_ outcome: ConnectionLife.Outcome, of index: Int) {
        let isFailure = fails(outcome)
        let cancelsOthers = state.withLock { state in
            defer { state.announce() }
            return state.life.end(index, isFailure: isFailure)
        }
        if cancelsOthers { cancel() }
        tell()
    }

    private func fails(_ outcome: ConnectionLife.Outcome) -> Bool {
        switch outcome {
        case .success(let response): isFailure(response)
        case .failure: true
        }
    }

    // MARK: Telling

    var progress: BatchProgress { state.withLock { $0.life.progress } }

    /// The index of the item that ended as the `place`-th, from 0; `nil` where none has yet.
    func index(endedAt place: Int) -> Int? {
        state.withLock { $0.life.ended.indices.contains(place) ? $0.life.ended[place] : nil }
    }

    /// Returns when the batch is over; cancellation does not end the wait.
    func end() async {
        let end = Promise<Void>()
        let isOver = state.withLock { state in
            if !state.life.isOver { state.waiters.append(end) }
            return state.life.isOver
        }
        if !isOver { await end.value() }
    }

    private func tell() {
        while let (news, foundationProgress) = state.withLock({ $0.next() }) {
            foundationProgress?.completedUnitCount = Int64(news.completed)
            if news.isEnd { close() }
            state.withLock { $0.life.hasTold() }
        }
    }

    /// Tells the end to all observers and waiters, and lets go of them.
    private func close() {
        let last = state.withLock { state in
            defer { (state.observers, state.waiters, state.operation) = (Listeners(), [], nil) }
            return state
        }
        last.operation?.end()
        for observer in last.observers.all { observer.finish() }
        for waiter in last.waiters { waiter.fulfill(with: ()) }
    }

    // MARK: All of them

    var connections: [Connection] { items.compactMap(\.connection) }

    func cancel() { for item in items { item.connection?.cancel() } }

    func pause() {
        state.withLock { $0.life.pause() }
        hold()
    }

    func resume() {
        state.withLock { $0.life.resume() }
        hold()
    }

    /// One thread at a time: of two that pause and let go, no connection may hear the second before the first.
    private func hold() {
        while let isHeld = state.withLock({ $0.life.nextHold() }) {
            for item in items { isHeld ? item.connection?.pause() : item.connection?.resume() }
            state.withLock { $0.life.hasHeld() }
        }
    }
}

extension BatchLedger.State {
    /// Tells the observers where the batch stands; yielding never calls out.
    func announce() { observers.yield(life.progress) }

    mutating func next() -> (BatchLife.News, Progress?)? {
        life.nextNews().map { ($0, foundationProgress) }
    }
}
