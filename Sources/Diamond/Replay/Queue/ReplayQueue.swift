package import DiamondSQLite
import DiamondSchema
import Foundation

/// A persistent queue of requests to be sent later: after failures or restarts, in order, by this process or another.
///
/// ```swift
/// var request = Request("https://api.example.com/orders", method: .post, body: .json(["city": 7]))
/// request.replay = ReplayPolicy(.durable, orderingKey: "cart-7")
/// let id = try await engine.queue().enqueue(request)
/// ```
///
/// Every method returns after its changes are on disk, by `fsync`. Concurrent changes are committed together. Several
/// processes may use one queue. A damaged file is refused and left as it is: its jobs may exist nowhere else.
public final class ReplayQueue: Sendable {
    /// A function that adds the engine's parts to a request before the request is written.
    typealias Resolve = @Sendable (Request) async throws -> Request

    let store: Store
    let database: SQLiteDatabase
    let clock: ReplayClock
    private let time: StoredQueueClock
    let writer: ReplayWriter
    let listeners = Broadcast<[ReplayTransition]>()
    /// The jobs that this process has changed without a transition, such as those whose answers were consumed.
    let touches = Broadcast<Set<ReplayJob.ID>>()
    let wakeFile: QueueWakeFile
    private let holdsWakeFile: QueueWakeFile
    private let holdWatch = Guarded<HoldWatch?>(nil)
    let owner: ReplayOwner
    let sentLog: SentLog
    let answerLog: AnswerLog
    let erasures: ErasureNote
    /// Whether values have to be sealed or overwritten, and this queue was opened without that.
    let isBehindSeal: Bool
    let rules: KeyRules
    let resolve: Resolve
    private let activity: Activity?
    private let ownMaximumCount = Guarded(100_000)
    private let ownRetention = Guarded(ReplayRetention())
    /// The time of the next maintenance.
    private let nextMaintenance = Guarded(Uptime.min)
    /// The time of the next check for jobs that no process sends; `.max` for never.
    private let nextAttendanceCheck: Guarded<Uptime>

    /// Opens the queue of a store, for a process that adds and manages jobs, but does not send them. Creates the queue
    /// if it is missing. Requests are written as they are, without an engine's base URL and headers.
    ///
    /// - Parameters:
    ///   - store: the store.
    ///   - seal: the seal of the store's files (``Engine/Configuration/seal``); `nil` for a store in clear. A queue in
    ///     clear is sealed with it.
    /// - Throws: ``ReplayError``: `cannotSeal` if the queue is sealed, and the seal does not have its key.
    public convenience init(_ store: Store, seal: (any CacheSeal)? = nil) throws(ReplayError) {
        try self.init(store, seal: seal, clock: .system)
    }

    /// Opens the existing queue of a store, to read or manage its jobs. Creates nothing.
    ///
    /// - Throws: ``ReplayError``: `noStore` if there is none.
    package convenience init(existing store: Store, seal: (any CacheSeal)? = nil) throws(ReplayError) {
        guard try store.hasQueue() else {
            let place = store.replayDirectory.path
            throw ReplayError(.noStore, "there is no queue in \(place): add a request to it, or use another store")
        }
        try self.init(store, seal: seal, clock: .system, create: false)
    }

    /// - Parameters:
    ///   - activity: receives the events of the queue; `nil` for none.
    ///   - create: whether the file, and the files next to it, may be created.
    ///   - seals: whether a queue in clear, or sealed with an older key, is sealed; `nil` if it may be created.
    ///   - resolve: adds the engine's parts to a request before it is written.
    init(
        _ store: Store,
        seal: (any CacheSeal)? = nil,
        clock: ReplayClock = .system,
        activity: Activity? = nil,
        rules: KeyRules = KeyRules(),
        create: Bool = true,
        seals: Bool? = nil,
        resolve: @escaping Resolve = { $0 }
    ) throws(ReplayError) {
        (database, isBehindSeal) = try Self.open(
            store, slot: seal.map { ReplaySealSlot($0) }, create: create, seals: seals ?? create)
        self.store = store
        self.clock = clock
        self.rules = rules
        self.resolve = resolve
        self.activity = activity
        // A program that has just started may be about to make its replayer.
        nextAttendanceCheck = Guarded(clock.uptime() + ReplayTable.unsentAge)
        let wakeFile = QueueWakeFile(store.wakePath, create: create)
        self.wakeFile = wakeFile
        holdsWakeFile = QueueWakeFile(store.holdsPath, create: create)
        time = StoredQueueClock(clock)
        writer = ReplayWriter(database, clock: clock, time: time) { [listeners, touches] ledger in
            if !ledger.touched.isEmpty { touches.send(ledger.touched) }
            let transitions = ledger.transitions
            if transitions.isEmpty { return }
            for transition in transitions { activity?.report(.job(transition)) }
            listeners.send(transitions)
            if transitions.contains(where: \.mayMakeWork) { wakeFile.wake() }
        }
        owner = ReplayOwner(store, writer: writer, clock: clock)
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

    /// The maximum number of open jobs (ready, waiting, running or held). Default: 100,000. Adding one more throws the
    /// error `queueFull`.
    public var maximumCount: Int {
        get { ownMaximumCount.withLock { $0 } }
        set { ownMaximumCount.withLock { $0 = newValue } }
    }

    /// The retention of ended jobs. The replayers of this process apply it.
    public var retention: ReplayRetention {
        get { ownRetention.withLock { $0 } }
        set { ownRetention.withLock { $0 = newValue } }
    }

    /// Once an hour, deletes jobs that ended long ago, and completes work that other processes left unfinished.
    func maintainIfNeeded() async throws(ReplayError) {
        let now = clock.uptime()
        let isTime = nextMaintenance.withLock { next in
            guard next <= now else { return false }
            next = now + 3_600_000
            return true
        }
        guard isTime else { return }
        try owner.removeOrphanedLocks()
        try await releaseOrphans()
        try await eraseJobsOfSignedOut()
        let retention = retention
        var isMore = true
        while isMore, !Task.isCancelled {
            isMore = try await writer.write { (connection, ledger) throws(SQLiteError) in
                try ReplayTable.correctTimes(on: connection, ledger: &ledger)
            }
        }
        isMore = true
        while isMore, !Task.isCancelled {
            isMore = try await writer.write { (connection, ledger) throws(SQLiteError) in
                try ReplayTable.deleteEnded(beyond: retention, on: connection, ledger: &ledger)
            }
        }
    }

    // MARK: Unsent jobs

    /// Notes that this process runs a replayer.
    func noteReplayer() { nextAttendanceCheck.withLock { $0 = .max } }

    /// Reports jobs that no process sends, if this queue has had no replayer in this process. It is checked at most
    /// once a minute, and reported once.
    func reportUnsentJobs() {
        let now = clock.uptime()
        let isTime = nextAttendanceCheck.withLock { next in
            guard next <= now else { return false }
            next = now + ReplayTable.unsentAge
            return true
        }
        guard let activity, isTime, let time = try? moment().time else { return }
        let owner = owner.id
        let count = try? read { (connection) throws(SQLiteError) in
            try ReplayTable.unsentCount(at: time, uptime: now, besides: owner, on: connection)
        }
        guard let count, count > 0 else { return }
        let isFirst = nextAttendanceCheck.withLock { next in
            defer { next = .max }
            return next != .max
        }
        if isFirst { activity.report(.replayerMissing(jobs: count)) }
    }

    /// Observes the holds that also apply to connections and calls (``ReplayHold/isForEngines``), added by this and
    /// other processes.
    ///
    /// - Parameter notify: called at once, and at each change. It must return quickly.
    func watchHolds(_ notify: @escaping @Sendable (Set<ReplayHold>) -> Void) {
        let watch = HoldWatch(
            store, clock: clock.sleep, read: { [weak self] in self?.holdsOfEngines() }, notify: notify)
        holdWatch.withLock { $0 = watch }
    }

    private func holdsOfEngines() -> Set<ReplayHold>? {
        do throws(ReplayError) { return Set(try holds().map(\.hold).filter(\.isForEngines)) } catch {
            report(error)
            return nil
        }
    }

    /// Notifies the engines of a change of a hold that also applies to connections and calls. Transitions of jobs do
    /// not report it.
    func notifyEngines(of hold: ReplayHold) {
        guard hold.isForEngines else { return }
        holdWatch.withLock { $0 }?.refresh()
        holdsWakeFile.wake()
    }

    /// Returns the current time by the queue's clock, and its difference from the wall clock.
    func moment() throws(ReplayError) -> ReplayMoment {
        do throws(SQLiteError) { return try time.now(of: database) } catch { throw ReplayError(error) }
    }

    /// Returns the queue's time. If the file cannot be read, the wall clock counts as right.
    func now() -> QueueTime { (try? moment().time) ?? QueueTime(correct: clock.now()) }

    /// Converts a time of the wall clock to the queue's time.
    func time(ofWall wall: WallTime) -> QueueTime { (try? moment().time(ofWall: wall)) ?? QueueTime(correct: wall) }

    func report(_ error: ReplayError) { activity?.report(.queueFailed(reason: error.message)) }

    // MARK: The end

    /// Records for other processes whether the system may end this process at any time from now on. Such an end does
    /// not count as a crash that the jobs being sent may have caused. An app calls this when it enters the background,
    /// and when it returns.
    public func allowSuddenTermination(_ isAllowed: Bool) async throws(ReplayError) {
        try await owner.suspend(isAllowed)
    }

    /// Ends the replayers of this queue in this process, and gives the claimed jobs back, so that other processes send
    /// them. Also ends the exchanges of replayers and durable requests. Requests added later are still written, durable
    /// requests too. Afterwards the file `replay.sqlite` itself contains all jobs, unless another process uses the
    /// queue.
    public func close() async {
        await owner.retire()
        let isInTime = Guarded(true)
        _ = await TimeLimit(clock.endTimeout).value {
            try? await self.eraseJobsOfSignedOut { isInTime.withLock { $0 } }
        }
        isInTime.withLock { $0 = false }
        // A later process does it.
        database.interruptRewrite()
        // If another process holds the file for long, that process empties the log when it closes.
        _ = await TimeLimit(clock.endTimeout).value { [writer] in await writer.emptyLog() }
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
