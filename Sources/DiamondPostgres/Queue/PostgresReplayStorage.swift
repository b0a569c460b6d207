#if Postgres && canImport(CDiamondPostgres)
public import Diamond
import DiamondSQLite
import Foundation

/// The jobs of a queue in a PostgreSQL database, which the processes of many machines share.
///
/// The tables are in the schema `diamond` of the database, which is created if it is missing. See <doc:RunningAFleet>.
package final class PostgresReplayStorage: ReplayStorageInspection {
    let pool: PostgresPool
    let clock: PostgresClock
    /// Whether the tables have to be looked at when a connection is made.
    private let isUnknown = Guarded(true)
    let marks = Guarded(PostgresMarks())
    private let observer = ReplayCommitObserver()
    let watchers = PostgresWatchers()
    private let notifier: PostgresNotifier
    let entries = PostgresBatches<ReplayEntry, Result<ReplayEnqueued, ReplayError>>()
    let beginnings = PostgresBatches<PostgresJobs.Beginning, Bool>()
    let endings = PostgresBatches<PostgresJobs.Ending, ReplayState?>()
    /// The claims whose commits were not answered.
    let lostClaims = Guarded<[(owner: Int64, mark: Int64)]>([])
    /// The sessions that prove that the owners of this instance are alive, by their ids.
    let sessions = Guarded<[ReplayOwnerRecord.ID: PostgresListener]>([:])
    /// The number of open jobs when they were last counted, with those added since.
    let openCount = Guarded((time: Uptime.min, count: 0))
    /// The next time at which the counts are summed up.
    let nextSum = Guarded(Uptime.min)

    /// Opens the queue of a database. Creates the tables, or brings those of an earlier version up to date.
    ///
    /// - Parameters:
    ///   - address: the server and the database. The user needs the right to create a schema the first time.
    ///   - connections: the largest number of connections for the work; 4 by default. Two more watch the queue and prove
    ///     that this process is alive, if it sends jobs.
    ///   - requiresServer: whether the server has to be there now; `true` by default. Otherwise this waits for it for 2
    ///     seconds. The tables are looked at when it can be reached, and calls throw `unreachable` until then.
    ///   - create: whether the tables are created if they are missing. Otherwise, that is the error `noStore`.
    ///   - lead: returns the milliseconds that are added to the server's time, for tests.
    /// - Throws: `ReplayError`: `newerStore` if a newer version of this package has written the tables,
    ///   `unreachable` if the server is required, and cannot be reached for 20 seconds.
    package convenience init(
        _ address: PostgresAddress, connections: Int = 4, requiresServer: Bool = true, create: Bool = true,
        lead: @escaping @Sendable () -> Int64 = { 0 }
    ) async throws(ReplayError) {
        self.init(withoutServer: address, connections: connections, create: create, lead: lead)
        isUnknown.withLock { $0 = false }
        do throws(PostgresError) {
            let limit = Duration.seconds(requiresServer ? 20 : 2)
            try await PostgresMigration.queue.run(on: pool, create: create, within: limit)
            try await clock.set(from: pool)
        } catch {
            guard !requiresServer, [.unreachable, .late, .busy].contains(error.code) else {
                pool.close()
                throw ReplayError(error)
            }
            isUnknown.withLock { $0 = true }
        }
    }

    /// Opens the queue of a database without waiting for its server. The tables are looked at, and created if they are
    /// missing, when it can be reached, and calls throw `unreachable` until then.
    init(
        withoutServer address: PostgresAddress, connections: Int, create: Bool = true,
        lead: @escaping @Sendable () -> Int64 = { 0 }
    ) {
        let clock = PostgresClock(lead: lead)
        self.clock = clock
        pool = PostgresPool(
            address, size: connections,
            prepare: { [isUnknown] (connection) throws(PostgresError) in
                try connection.planOnce()
                guard isUnknown.withLock({ $0 }) else { return }
                try PostgresMigration.queue.run(on: connection, create: create)
                try clock.set(from: connection)
                isUnknown.withLock { $0 = false }
            })
        // A hint: those that miss it poll.
        notifier = PostgresNotifier(every: .milliseconds(50)) { [pool] in
            _ = try? await pool.run(within: .seconds(2)) { (connection) throws(PostgresError) in
                try connection.rows("SELECT pg_notify('diamond', '')").count
            }
            return true
        }
    }

    deinit {
        for session in sessions.withLock({ $0.values.map(\.self) }) { session.close() }
        watchers.close()
        pool.close()
    }

    package var name: String { pool.address.description }

    // MARK: Events

    package func observe(_ report: @escaping @Sendable (ReplayCommit) -> Void) { observer.set(report) }

    package func watch(_ subject: ReplayWatchSubject, _ notify: @escaping @Sendable () -> Void) -> any ReplayWatch {
        watchers.add(notify, address: pool.address)
    }

    func report(_ commit: ReplayCommit) {
        guard !commit.transitions.isEmpty || !commit.touched.isEmpty || commit.changesHolds else { return }
        observer.report(commit)
        guard commit.changesHolds || commit.transitions.contains(where: \.mayMakeWork) else { return }
        notifier.notify()
    }

    // MARK: Time

    package func moment() throws(ReplayError) -> ReplayMoment { clock.moment }

    // MARK: Transactions

    /// Runs a body in a transaction, and reports its changes after the commit.
    ///
    /// - Parameters:
    ///   - isRepeatable: whether the body may run again after a commit whose outcome is unknown.
    ///   - isDryRun: whether the changes are undone and not reported.
    func write<Value: Sendable>(
        isRepeatable: Bool = false, isDryRun: Bool = false,
        _ body: @escaping @Sendable (PostgresJobs) throws(PostgresError) -> Value
    ) async throws(PostgresError) -> Value {
        let clock = clock
        let (value, commit) = try await pool.transaction(isRepeatable: isRepeatable) {
            (connection) throws(PostgresError) in
            let jobs = PostgresJobs(on: connection, by: clock)
            let value = try body(jobs)
            try jobs.complete()
            if isDryRun { try connection.undo() }
            return (value, jobs.commit)
        }
        if !isDryRun {
            report(commit)
            await clock.setIfNeeded(from: pool)
            await sumCountsIfNeeded()
        }
        return value
    }

    /// Does the same as ``write(isRepeatable:isDryRun:_:)``, with the errors of a queue.
    func change<Value: Sendable>(
        isRepeatable: Bool = false, isDryRun: Bool = false,
        _ body: @escaping @Sendable (PostgresJobs) throws(PostgresError) -> Value
    ) async throws(ReplayError) -> Value {
        do throws(PostgresError) {
            return try await write(isRepeatable: isRepeatable, isDryRun: isDryRun, body)
        } catch {
            throw ReplayError(error)
        }
    }

    /// Runs a body outside of a transaction, with the errors of a queue.
    func fetch<Value: Sendable>(
        _ body: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Value
    ) async throws(ReplayError) -> Value {
        do throws(PostgresError) { return try await pool.run(body) } catch { throw ReplayError(error) }
    }

    /// Reads on the calling thread, which waits for a round trip.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Value
    ) throws(ReplayError) -> Value {
        do throws(PostgresError) { return try pool.waitingRun(body) } catch { throw ReplayError(error) }
    }

    // MARK: The end

    package func close(within limit: Duration) async {
        // Later calls open connections again.
        watchers.close()
    }
}

extension QueuePlace {
    /// The place of a queue in a PostgreSQL database, which the processes of many machines share. The tables are in its
    /// schema `diamond`, which is created if it is missing. While the server cannot be reached, jobs are added to a file
    /// in the engine's store, and moved when it is back. See <doc:RunningAFleet>.
    ///
    /// - Parameters:
    ///   - address: the server and the database. The user needs the right to create a schema the first time.
    ///   - connections: the largest number of connections for the work; 4 by default. Two more watch the queue and
    ///     prove that this process is alive, if it sends jobs.
    ///   - allowsClearText: whether an engine with a seal may have its queue there, although its jobs are not sealed on
    ///     the server; `false` by default: `Engine.queue()` throws `notSealed` then.
    public static func postgres(
        _ address: PostgresAddress, connections: Int = 4, allowsClearText: Bool = false
    ) -> QueuePlace {
        .server(address.description, allowsClearText: allowsClearText) { () throws(ReplayError) in
            PostgresReplayStorage(withoutServer: address, connections: connections)
        }
    }
}

extension ReplayQueue {
    /// Opens the queue of a PostgreSQL database without an engine, for a process that adds and manages jobs, but does not
    /// send them. Creates the tables, or brings those of an earlier version up to date.
    ///
    /// - Parameters:
    ///   - address: the server and the database. The user needs the right to create a schema the first time.
    ///   - connections: the largest number of connections for the work; 4 by default. One more watches the queue.
    ///   - requiresServer: whether the server has to be there now; `true` by default. Otherwise this waits for it for 2
    ///     seconds. The tables are looked at when it can be reached, and calls throw `unreachable` until then.
    /// - Throws: `ReplayError`: `newerStore` if a newer version of this package has written the tables,
    ///   `unreachable` if the server is required, and cannot be reached for 20 seconds.
    public convenience init(
        _ address: PostgresAddress, connections: Int = 4, requiresServer: Bool = true
    ) async throws(ReplayError) {
        let storage = try await PostgresReplayStorage(
            address, connections: connections, requiresServer: requiresServer)
        self.init(storage: storage)
    }
}

extension ReplayTransition {
    /// Whether the transition may let other processes send or wait for jobs.
    var mayMakeWork: Bool { to == .ready || to == .waiting || to?.isEnd == true }
}

extension ReplayError {
    init(_ error: PostgresError) {
        let code: Code =
            switch error.code {
            case .unreachable, .late: .unreachable
            case .busy: .busy
            case .full: .diskFull
            case .newerSchema: .newerStore
            case .missingSchema: .noStore
            case .notPermitted: .cannotOpen
            case .corrupt: .corrupt
            case .closed: .closed
            default: error.isConflict ? .busy : .other
            }
        self.init(code, error.description)
    }
}

/// The server's clock, as this process knows it.
///
/// The server's time is computed from this machine's time since its start, so that setting its wall clock changes nothing.
final class PostgresClock: Sendable {
    private struct State {
        /// The server's time at the start of this machine, in milliseconds. Before it is known, by this machine's wall clock.
        var zero = WallTime.now.rawValue - Uptime.now.rawValue
        var isSet = false
        var nextSetting = Uptime.min
        var latest = QueueTime.min
    }

    private let state = Guarded(State())
    private static let settingTime: Int64 = 30_000
    /// The difference within which a wall clock counts as right, in milliseconds.
    private static let tolerance: Int64 = 60_000
    private let lead: @Sendable () -> Int64

    init(lead: @escaping @Sendable () -> Int64) { self.lead = lead }

    var moment: ReplayMoment {
        let (uptime, wall) = (Uptime.now, WallTime.now)
        let time = state.withLock { state in
            // It never goes back.
            state.latest = max(state.latest, QueueTime(rawValue: state.zero + uptime.rawValue + lead()))
            return state.latest
        }
        let ahead = wall.rawValue - time.rawValue
        return ReplayMoment(time: time, lead: abs(ahead) <= Self.tolerance ? 0 : ahead)
    }

    func set(from pool: PostgresPool) async throws(PostgresError) {
        try await pool.run { (connection) throws(PostgresError) in try self.set(from: connection) }
    }

    func set(from connection: PostgresConnection) throws(PostgresError) {
        let before = Uptime.now
        let time = try connection.rows("SELECT \(sql) AS now").first?.int64("now") ?? 0
        let zero = time - lead() - (before.rawValue + Uptime.now.rawValue) / 2
        state.withLock { state in
            state.zero = zero
            if !state.isSet { state.latest = .min }
            state.isSet = true
            state.nextSetting = .now + Self.settingTime
        }
    }

    /// Reads the server's time again, after half a minute.
    func setIfNeeded(from pool: PostgresPool) async {
        let isNeeded = state.withLock { state in
            guard state.nextSetting <= .now else { return false }
            state.nextSetting = .now + Self.settingTime
            return true
        }
        if isNeeded { try? await set(from: pool) }
    }

    /// The server's time in milliseconds.
    var sql: PostgresSQL { "((extract(epoch FROM clock_timestamp()) * 1000)::bigint + \(lead()))" }
}

/// The observers of other processes' changes, which share a connection.
final class PostgresWatchers: Sendable {
    private final class Watch: ReplayWatch {
        /// Notifications may get lost, so the caller polls, too.
        var reportsChanges: Bool { false }
        var reportsEnds: Bool { false }
        let notify: @Sendable () -> Void
        private let end: @Sendable () -> Void

        init(_ notify: @escaping @Sendable () -> Void, end: @escaping @Sendable () -> Void) {
            self.notify = notify
            self.end = end
        }

        deinit { end() }
    }

    private struct State {
        var listener: PostgresListener?
        var watches: [Int: Weak] = [:]
        var lastID = 0
    }

    private struct Weak {
        weak var watch: Watch?
    }

    private let state = Guarded(State())

    /// The time between two looks for ended sessions, in milliseconds, if nothing is notified. With the wait before an
    /// owner counts as dead, its jobs are claimed again within a second.
    private static let checkTime: Int64 = 550

    func add(_ notify: @escaping @Sendable () -> Void, address: PostgresAddress) -> any ReplayWatch {
        state.withLock { state in
            state.lastID += 1
            let id = state.lastID
            let watch = Watch(notify) { [weak self] in self?.remove(id) }
            state.watches[id] = Weak(watch: watch)
            if state.listener == nil {
                state.listener = PostgresListener(
                    address, name: "watch", channel: "LISTEN diamond", checkTime: Self.checkTime,
                    read: { [weak self] (connection) throws(PostgresError) in
                        let lost = try connection.rows(
                            "SELECT FROM owner WHERE \(PostgresReplayStorage.hasNoSession) LIMIT 1")
                        if lost.count > 0 { self?.notify() }
                    },
                    notify: { [weak self] event in if event != .lost { self?.notify() } })
            }
            return watch
        }
    }

    func notify() {
        // Called outside of the lock: a watch that ends now takes it.
        let watches = state.withLock { $0.watches.values.compactMap(\.watch) }
        for watch in watches { watch.notify() }
    }

    private func remove(_ id: Int) {
        let listener = state.withLock { state -> PostgresListener? in
            state.watches[id] = nil
            guard state.watches.isEmpty else { return nil }
            defer { state.listener = nil }
            return state.listener
        }
        listener?.close()
    }

    func close() {
        let listener = state.withLock { state in
            defer { state.listener = nil }
            return state.listener
        }
        listener?.close()
    }
}
#endif
