import DiamondSQLite
import Foundation

/// The writer of the queue's file. It commits concurrent writes in one transaction, because a commit waits for the
/// disk, and a hundred writes can wait together.
///
/// If the disk is fast and writes come one at a time, each runs on the task's own thread, never an actor's: switching
/// to another thread and back takes as long as the commit itself. If the disk is slow, or another process writes, a
/// thread of the writer waits instead of a task's. Writes that come during that wait join the next transaction.
final class ReplayWriter: Sendable {
    /// The body of a transaction. It may run twice, and must have no effect outside the transaction.
    typealias Body<Value> =
        @Sendable (
            borrowing SQLiteConnection, inout ReplayLedger
        ) throws(SQLiteError) -> Value

    private struct Item: Sendable {
        var body: Body<Void>
        var finish: @Sendable (ReplayError?) -> Void
    }

    private struct State {
        var waiting: [Item] = []
        var isScheduled = false
        /// Whether the writer's thread rewrites the file. Writes come after that, and hold no task's thread.
        var isRewriting = false
        /// A record of quick single writes. It decides whether a task may write on its own thread.
        var singles = QuickWrites()
    }

    /// The maximum number of writes in one transaction.
    private static let groupLimit = 512

    private let database: SQLiteDatabase
    private let clock: ReplayClock
    private let time: StoredQueueClock
    private let whenCommitted: @Sendable (ReplayLedger) -> Void
    private let state = Guarded(State())
    private let queue = DispatchQueue(label: "diamond.replay.writer", qos: .userInitiated)

    /// - Parameter whenCommitted: receives the changes of each transaction when they are on disk.
    init(
        _ database: SQLiteDatabase,
        clock: ReplayClock,
        time: StoredQueueClock,
        whenCommitted: @escaping @Sendable (ReplayLedger) -> Void
    ) {
        self.database = database
        self.clock = clock
        self.time = time
        self.whenCommitted = whenCommitted
    }

    /// Runs a body in a transaction, and returns when its changes are durable.
    @concurrent
    func write<Value: Sendable>(_ body: @escaping Body<Value>) async throws(ReplayError) -> Value {
        let result = Guarded<Value?>(nil)
        let failure: ReplayError? = await withCheckedContinuation { continuation in
            let item = Item(
                body: { (connection, ledger) throws(SQLiteError) in
                    let value = try body(connection, &ledger)
                    result.withLock { $0 = value }
                },
                finish: { continuation.resume(returning: $0) }
            )
            switch add(item) {
            case .wait: break
            case .write: writeHere()
            case .schedule: queue.async { self.drain() }
            }
        }
        if let failure { throw failure }
        guard let value = result.withLock({ $0 }) else {
            throw ReplayError(.other, "the queue's transaction ended without a result: try again")
        }
        return value
    }

    /// Moves the write-ahead log into the file, after the writes that wait.
    func emptyLog() async {
        await withCheckedContinuation { continuation in
            queue.async {
                self.database.emptyLogIfFree()
                continuation.resume()
            }
        }
    }

    /// Overwrites what was deleted, and empties the log, after the writes that wait. Rewrites the whole file.
    func overwriteErased() async throws(ReplayError) {
        let failure: SQLiteError? = await withCheckedContinuation { continuation in
            queue.async {
                self.state.withLock { $0.isRewriting = true }
                defer { self.state.withLock { $0.isRewriting = false } }
                do throws(SQLiteError) {
                    try self.database.rewrite()
                    continuation.resume(returning: nil)
                } catch {
                    // A full disk may have no space for the rewritten file.
                    self.database.emptyLog()
                    continuation.resume(returning: error)
                }
            }
        }
        if let failure { throw ReplayError(failure) }
    }

    /// The next step of a task that adds a write.
    private enum NextStep { case wait, write, schedule }

    private func add(_ item: Item) -> NextStep {
        state.withLock { state in
            state.waiting.append(item)
            guard !state.isScheduled else { return .wait }
            state.isScheduled = true
            return state.singles.mayHoldThread && !state.isRewriting ? .write : .schedule
        }
    }

    /// Writes one group on this thread. Later writes, and waits for another process, go to the writer's thread.
    private func writeHere() {
        if let group = nextGroup(), !write(group, waitsIfBusy: false) {
            state.withLock { state in
                state.waiting = group + state.waiting
                state.singles.reset()
            }
        }
        let isMore = state.withLock { state in
            state.isScheduled = !state.waiting.isEmpty
            return state.isScheduled
        }
        if isMore { queue.async { self.drain() } }
    }

    private func drain() {
        while let group = nextGroup() { write(group) }
    }

    private func nextGroup() -> [Item]? {
        state.withLock { state in
            let group = Array(state.waiting.prefix(Self.groupLimit))
            state.waiting.removeFirst(group.count)
            state.isScheduled = !group.isEmpty
            return group.isEmpty ? nil : group
        }
    }

    /// Writes a group in one transaction. If a write fails, writes each one alone, so that it does not affect the
    /// others. If the disk fails, all of them fail at once.
    ///
    /// - Returns: `false` if the write would have to wait for another process, and must not.
    @discardableResult
    private func write(_ group: [Item], waitsIfBusy: Bool = true) -> Bool {
        do throws(ReplayError) {
            try commit(group, waitsIfBusy: waitsIfBusy)
            for item in group { item.finish(nil) }
        } catch  where error.code == .busy && !waitsIfBusy {
            return false
        } catch  where group.count > 1 && !error.isTransient {
            for item in group { write([item]) }
        } catch {
            for item in group { item.finish(error) }
        }
        return true
    }

    private func commit(_ group: [Item], waitsIfBusy: Bool) throws(ReplayError) {
        let start = DispatchTime.now().uptimeNanoseconds
        defer {
            state.withLock { state in
                state.singles.recordWrite(since: start, isAlone: group.count == 1 && state.waiting.isEmpty)
            }
        }
        let ledger = try commit(waitsIfBusy: waitsIfBusy) { (connection, ledger) throws(SQLiteError) in
            for item in group { try item.body(connection, &ledger) }
        }
        whenCommitted(ledger)
    }

    /// Runs a body in one transaction.
    ///
    /// - Parameter waitsIfBusy: whether to wait for another process that writes.
    /// - Returns: the changes of the transaction.
    private func commit(
        waitsIfBusy: Bool,
        _ body: (borrowing SQLiteConnection, inout ReplayLedger) throws(SQLiteError) -> Void
    ) throws(ReplayError) -> ReplayLedger {
        do throws(SQLiteError) {
            return try database.write(busyTimeout: waitsIfBusy ? nil : .zero) { (connection) throws(SQLiteError) in
                try ReplayTable.refuseIfSealed(on: connection)
                var ledger = ReplayLedger(at: try time.now(on: connection), uptime: clock.uptime())
                try body(connection, &ledger)
                try ReplayTable.countTransitions(of: ledger, on: connection)
                return ledger
            }
        } catch {
            throw ReplayError(error)
        }
    }
}
