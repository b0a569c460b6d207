import DiamondSQLite
import Foundation

/// A persistent queue of requests to be sent later: after failures or restarts, in order, by this process or another.
///
/// ```swift
/// var request = Request("https://api.example.com/orders", method: .post, body: .json(["city": 7]))
/// request.replay = ReplayPolicy(.durable, orderingKey: "cart-7")
/// let id = try await engine.queue().enqueue(request)
/// ```
///
/// Every method returns after its changes are durable: in a file, by `fsync`. Concurrent changes are committed
/// together. Several processes may use one queue. A damaged file is refused and left as it is: its jobs may exist
/// nowhere else.
public final class ReplayQueue: Sendable {
    /// A function that adds the engine's parts to a request before the request is written.
    typealias Resolve = @Sendable (Request) async throws -> Request

    package let storage: any ReplayStorage
    let clock: ReplayClock
    let listeners = Broadcast<[ReplayTransition]>()
    /// The jobs that this process has changed without a transition, such as those whose answers were consumed.
    let touches = Broadcast<Set<ReplayJob.ID>>()
    private let holdWatch: Guarded<HoldWatch?>
    let owner: ReplayOwner
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

    /// Opens the queue of a storage, for a process that adds and manages jobs, but does not send them.
    ///
    /// - Parameter storage: the storage, which no other queue uses: each queue has an instance of its own.
    public convenience init(storage: any ReplayStorage) { self.init(storage: storage, clock: .system) }

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
    convenience init(
        _ store: Store,
        seal: (any CacheSeal)? = nil,
        clock: ReplayClock = .system,
        activity: Activity? = nil,
        rules: KeyRules = KeyRules(),
        create: Bool = true,
        seals: Bool? = nil,
        resolve: @escaping Resolve = { $0 }
    ) throws(ReplayError) {
        let storage = try SQLiteReplayStorage(store, seal: seal, clock: clock, create: create, seals: seals ?? create)
        self.init(storage: storage, clock: clock, activity: activity, rules: rules, resolve: resolve)
    }

    init(
        storage: any ReplayStorage,
        clock: ReplayClock,
        activity: Activity? = nil,
        rules: KeyRules = KeyRules(),
        resolve: @escaping Resolve = { $0 }
    ) {
        self.storage = storage
        self.clock = clock
        self.rules = rules
        self.resolve = resolve
        self.activity = activity
        // A program that has just started may be about to make its replayer.
        nextAttendanceCheck = Guarded(clock.uptime() + ReplayTable.unsentAge)
        owner = ReplayOwner(storage, clock: clock)
        let holdWatch = Guarded<HoldWatch?>(nil)
        self.holdWatch = holdWatch
        storage.observe { [listeners, touches] commit in
            if !commit.touched.isEmpty { touches.send(commit.touched) }
            if commit.changesHolds { holdWatch.withLock { $0 }?.refresh() }
            guard !commit.transitions.isEmpty || (commit.touched.isEmpty && !commit.changesHolds) else { return }
            for transition in commit.transitions { activity?.report(.job(transition)) }
            listeners.send(commit.transitions)
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
        try await storage.maintain(retention)
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
        guard let activity, isTime, let count = try? storage.unsentCount(besides: owner.id), count > 0 else { return }
        let isFirst = nextAttendanceCheck.withLock { next in
            defer { next = .max }
            return next != .max
        }
        if isFirst { activity.report(.replayerMissing(jobs: count)) }
    }

    /// Observes the holds that also apply to connections and calls (``ReplayHold/isForEngines``), added by this and
    /// other processes.
    ///
    /// - Parameter notify: called at once for a queue in a file, otherwise when they have been read, and at each
    ///   change. It must return quickly.
    func watchHolds(_ notify: @escaping @Sendable (Set<ReplayHold>) -> Void) {
        let watch = HoldWatch(
            storage, clock: clock.sleep, read: { [weak self] in self?.holdsOfEngines() }, notify: notify)
        holdWatch.withLock { $0 = watch }
    }

    private func holdsOfEngines() -> Set<ReplayHold>? {
        do throws(ReplayError) { return Set(try holds().map(\.hold).filter(\.isForEngines)) } catch {
            report(error)
            return nil
        }
    }

    func moment() throws(ReplayError) -> ReplayMoment { try storage.moment() }

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
    /// requests too, except those that would spill from a queue on a server into a directory that another engine has
    /// taken since: they throw `closed`. Afterwards the file `replay.sqlite` itself contains all jobs, unless another
    /// process uses the queue.
    public func close() async {
        await owner.retire()
        await storage.close(within: clock.endTimeout)
    }
}
