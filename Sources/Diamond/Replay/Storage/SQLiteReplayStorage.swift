package import DiamondSQLite
import DiamondSchema
import Foundation

/// The jobs of a queue in a SQLite file, `replay.sqlite`, with the locks of its owners and other files next to it. All
/// processes of a machine may use it.
///
/// Concurrent changes are committed together, each by `fsync`. A damaged file is refused and left as it is: its jobs
/// may exist nowhere else.
final class SQLiteReplayStorage: ReplayStorageInspection {
    let store: Store
    let database: SQLiteDatabase
    let clock: ReplayClock
    private let time: StoredQueueClock
    let writer: ReplayWriter
    let wakeFile: QueueWakeFile
    let holdsWakeFile: QueueWakeFile
    /// The locks of the owners that this instance has registered, by their ids.
    let locks = Guarded<[ReplayOwnerRecord.ID: OwnerLock]>([:])
    let sentLog: SentLog
    let answerLog: AnswerLog
    let erasures: ErasureNote
    /// Whether values have to be sealed or overwritten, and the file was opened without that.
    let isBehindSeal: Bool
    let observer = ReplayCommitObserver()

    /// - Parameters:
    ///   - create: whether the file, and the files next to it, may be created.
    ///   - seals: whether a queue in clear, or sealed with an older key, is sealed.
    init(
        _ store: Store, seal: (any CacheSeal)?, clock: ReplayClock, create: Bool, seals: Bool
    ) throws(ReplayError) {
        (database, isBehindSeal) = try Self.open(
            store, slot: seal.map { ReplaySealSlot($0) }, create: create, seals: seals)
        self.store = store
        self.clock = clock
        let wakeFile = QueueWakeFile(store.wakePath, create: create)
        self.wakeFile = wakeFile
        holdsWakeFile = QueueWakeFile(store.holdsPath, create: create)
        time = StoredQueueClock(clock)
        writer = ReplayWriter(database, clock: clock, time: time) { [observer] ledger in
            guard !ledger.transitions.isEmpty || !ledger.touched.isEmpty else { return }
            observer.report(ReplayCommit(ledger.transitions, touched: ledger.touched))
            if ledger.transitions.contains(where: \.mayMakeWork) { wakeFile.wake() }
        }
        sentLog = SentLog(store.sentPath)
        answerLog = AnswerLog(store.answersPath)
        erasures = ErasureNote(store.erasedPath)
    }

    private static func open(
        _ store: Store, slot: ReplaySealSlot?, create: Bool, seals: Bool
    ) throws(ReplayError) -> (SQLiteDatabase, isBehindSeal: Bool) {
        if create { try makeDirectories(of: store) }
        var configuration = store.replaySchema
        configuration.create = create
        configuration.context = slot
        do throws(SQLiteError) {
            for path in [store.wakePath, store.holdsPath, store.sentPath, store.answersPath] {
                try PrivateFile.check(path)
            }
            try PrivateFile.checkDirectory(store.ownersDirectory.path, isOwn: true)
            // The logs belong to a queue that was removed. A new queue gives the same ids to other jobs.
            if create, access(store.replayPath, F_OK) != 0 {
                unlink(store.sentPath)
                unlink(store.answersPath)
            }
            let database = try SQLiteDatabase(path: store.replayPath, configuration: configuration)
            let isBehind = try slot?.isBehind(database) ?? false
            if isBehind, seals { try slot?.seal(database, answers: AnswerLog(store.answersPath)) }
            try database.read(ReplayTable.refuseIfSealed)
            // Only after the secret is known: the jobs of earlier versions have it in their sealed metadata.
            if try database.read(ReplayTable.hasUnlinkedJobs) { try database.write(ReplayTable.linkJobs) }
            return (database, isBehind && !seals)
        } catch {
            throw ReplayError(error)
        }
    }

    private static func makeDirectories(of store: Store) throws(ReplayError) {
        do throws(CacheError) {
            try store.create(store.replayDirectory)
            try store.create(store.ownersDirectory)
        } catch {
            throw ReplayError(.cannotOpen, error.message)
        }
    }

    var name: String { store.replayPath }

    func read<Value>(
        _ body: (borrowing SQLiteConnection) throws(SQLiteError) -> Value
    ) throws(ReplayError) -> Value {
        do throws(SQLiteError) {
            return try database.read { (connection) throws(SQLiteError) in
                try ReplayTable.refuseIfSealed(on: connection)
                return try body(connection)
            }
        } catch {
            throw ReplayError(error)
        }
    }

    /// - Parameter isDryRun: whether the changes are undone, and no transition is reported or counted.
    func write<Value: Sendable>(
        isDryRun: Bool,
        body: @escaping ReplayWriter.Body<Value>
    ) async throws(ReplayError) -> Value {
        guard isDryRun else { return try await writer.write(body) }
        return try await writer.write { (connection, ledger) throws(SQLiteError) in
            var copy = ledger
            return try connection.withSavepoint { (connection) throws(SQLiteError) in
                (try body(connection, &copy), false)
            }
        }
    }

    /// Changes batches of jobs until there are no more, or the task is canceled.
    ///
    /// - Parameter body: changes a batch, and returns whether there may be more.
    func writeBatches(_ body: @escaping ReplayWriter.Body<Bool>) async throws(ReplayError) {
        var isMore = true
        while isMore, !Task.isCancelled { isMore = try await writer.write(body) }
    }

    // MARK: Events

    func observe(_ report: @escaping @Sendable (ReplayCommit) -> Void) { observer.set(report) }

    func report(_ commit: ReplayCommit) { observer.report(commit) }

    func watch(_ subject: ReplayWatchSubject, _ notify: @escaping @Sendable () -> Void) -> any ReplayWatch {
        switch subject {
        case .jobs: QueueWatch(store, notify: notify)
        case .holds: QueueWatch(wakeFile: store.holdsPath, notify: notify)
        }
    }

    var versionByOthers: Int64? { database.versionByOthers }

    // MARK: Time

    func moment() throws(ReplayError) -> ReplayMoment {
        do throws(SQLiteError) { return try time.now(of: database) } catch { throw ReplayError(error) }
    }

    // MARK: The end

    /// Afterwards the file itself contains all jobs, unless another process uses the queue.
    func close(within limit: Duration) async {
        let isInTime = Guarded(true)
        _ = await TimeLimit(limit).value {
            try? await self.eraseJobsOfSignedOut { isInTime.withLock { $0 } }
        }
        isInTime.withLock { $0 = false }
        // A later process does it.
        database.interruptRewrite()
        // If another process holds the file for long, that process empties the log when it closes.
        _ = await TimeLimit(limit).value { [writer] in await writer.emptyLog() }
    }

    // For processes that only add or manage jobs, and do not close the queue.
    deinit { database.emptyLogIfFree() }
}

extension Store {
    package var replaySchema: SQLiteConfiguration {
        var configuration = DiamondSchema.replay
        configuration.vfs = vfs
        configuration.complete = { (connection) throws(SQLiteError) in try ReplayTable.seal(on: connection) }
        return configuration
    }

    /// Whether the store has a queue. Throws if the directory cannot be read.
    package func hasQueue() throws(ReplayError) -> Bool {
        do throws(CacheError) {
            return try fileExists(replayPath, in: replayDirectory)
        } catch {
            throw ReplayError(.cannotOpen, error.message)
        }
    }
}

extension ReplayTransition {
    /// Whether the transition may let other processes send or wait for jobs.
    fileprivate var mayMakeWork: Bool { to == .ready || to == .waiting || to?.isEnd == true }
}
