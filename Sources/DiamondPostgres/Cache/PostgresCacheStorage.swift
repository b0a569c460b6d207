#if Postgres && canImport(CDiamondPostgres)
public import Diamond
import DiamondSQLite
package import Foundation

/// The storage of a cache in a PostgreSQL database, which the processes of many machines share.
///
/// The tables are in the schema `diamond` of the database, which is created if it is missing. They are unlogged: after a
/// crash of the server they are empty. While it cannot be reached, lookups are misses; the memory tier of each process
/// keeps the entries that arrive in the meantime.
///
/// The memory tiers are kept current by announcements, which a connection of its own reads after a `NOTIFY`, and four times
/// a second. A process that loses the connection, or has read nothing for a second, drops its memory tier.
///
/// An invalidation or erasure by tag, host, identity or URL, or of everything, writes one row, however many entries it
/// affects. See <doc:RunningAFleet>.
package final class PostgresCacheStorage: CacheStorage {
    /// The running parts.
    private struct State {
        /// Whether the tables are there.
        var isReady = false
        var listener: PostgresListener?
        var notifier: PostgresNotifier?
        var tending: Task<Void, Never>?
        /// The keys to announce; `nil` if anything may have changed.
        var unannounced: ChangedNames? = ChangedNames()
    }

    let pool: PostgresPool
    let watch = Guarded(PostgresWatch())
    /// The most bytes of heads and bodies.
    let capacity: Int64
    let clock: PostgresClock
    package let secret: Data
    /// A number that distinguishes the announcements of this process.
    let process = Int64.random(in: .min ... .max)
    private let silence: Duration
    private let state = Guarded(State())

    /// The times within which several announcements count as one: here, and in milliseconds where they are read.
    private static let announceTime = Duration.milliseconds(40)
    private static let debounce: Int64 = 20
    /// The time between two rounds of expiry and eviction, in seconds. It is random, so that processes take turns.
    private static let tendTime = 10.0...30.0

    /// Connects to a server in the background.
    ///
    /// - Parameters:
    ///   - address: the server and the database. The user needs the right to create a schema the first time. The password in
    ///     it, or in `PGPASSWORD`, also makes the store's secret: all processes need the same one.
    ///   - capacity: the most bytes of entries, 1 GiB by default. Beyond it, those that were stored or confirmed first are
    ///     evicted. The tables take more.
    ///   - connections: the largest number of connections for the work; 4 by default. One more reads announcements.
    ///   - silence: the time without an answer after which announcements may have been missed; a second by default.
    ///   - lead: returns the milliseconds that are added to the server's time, for tests.
    package init(
        _ address: PostgresAddress, capacity: Int64 = 1 << 30, connections: Int = 4, silence: Duration = .seconds(1),
        lead: @escaping @Sendable () -> Int64 = { 0 }
    ) {
        pool = PostgresPool(address, name: "cache", size: connections)
        self.capacity = capacity
        self.silence = silence
        clock = PostgresClock(lead: lead)
        let password = address.parameters["password"] ?? ProcessInfo.processInfo.environment["PGPASSWORD"]
        secret = CacheSecret.derived(from: password, for: "diamond postgres \(address.parameters["dbname"] ?? "")")
    }

    deinit {
        let state = state.withLock { $0 }
        state.listener?.close()
        state.tending?.cancel()
        pool.close()
    }

    package var name: String { pool.address.description }

    // MARK: Calling the server

    /// Runs statements that change nothing before all of them are done: in one transaction up to the first rows that are
    /// read. They may run again.
    func ask<Value: Sendable>(
        within limit: Duration = .seconds(2),
        _ body: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Value
    ) async throws(CacheError) -> Value {
        do throws(PostgresError) {
            if !state.withLock({ $0.isReady }) { try await prepare() }
            return try await pool.run(within: limit, body)
        } catch {
            // The database was dropped and created again.
            if error.sqlState == "42P01" { state.withLock { $0.isReady = false } }
            throw CacheError(error)
        }
    }

    /// Creates the tables, and starts what runs in the background.
    private func prepare() async throws(PostgresError) {
        try await PostgresMigration.cache.run(on: pool)
        state.withLock { state in
            state.isReady = true
            if state.listener == nil { state.listener = makeListener() }
            if state.notifier == nil { state.notifier = makeNotifier() }
            if state.tending == nil { state.tending = makeTending() }
        }
    }

    private func makeNotifier() -> PostgresNotifier {
        PostgresNotifier(every: Self.announceTime) { [weak self] in await self?.announceKeys() ?? true }
    }

    private func makeTending() -> Task<Void, Never> {
        Task.detached(priority: .background) { [weak self] in
            while true {
                let pause = Duration.seconds(Double.random(in: Self.tendTime))
                guard (try? await ContinuousClock().sleep(for: pause)) != nil, let self else { return }
                // A round that fails is made up for by the next one.
                try? await self.tend()
            }
        }
    }

    // MARK: Announcements

    private func makeListener() -> PostgresListener {
        PostgresListener(
            pool.address, name: "cache watch", channel: "LISTEN diamond_cache", debounce: Self.debounce,
            checkTime: silence.milliseconds / 4,
            prepare: { [weak self] (connection) throws(PostgresError) in try self?.beginReading(on: connection) },
            read: { [weak self] (connection) throws(PostgresError) in try self?.readAnnouncements(on: connection) },
            notify: { [weak self] event in if event == .lost { self?.watch.withLock { $0.disconnect() } } })
    }

    private func beginReading(on connection: PostgresConnection) throws(PostgresError) {
        let time = Uptime.now
        let newest = try connection.rows("SELECT max(position) AS position FROM cache_change").first?.int64("position")
        watch.withLock { $0.connect(at: newest ?? 0, time: time) }
    }

    private func readAnnouncements(on connection: PostgresConnection) throws(PostgresError) {
        let pageSize = 1000
        var count = pageSize
        while count == pageSize {
            let time = Uptime.now
            let known = watch.withLock { $0.known }
            let rows = try connection.rows(
                """
                SELECT position, process, names, stamps FROM cache_change WHERE position > \(known)
                ORDER BY position LIMIT \(pageSize)
                """)
            let announcements = rows.map { row in
                PostgresWatch.Announcement(
                    position: row.int64("position"), isOwn: row.int64("process") == process,
                    names: row.optionalData("names").flatMap(ChangedNames.init),
                    stamps: ChangedNames(row.data("stamps"))?.keys ?? [])
            }
            count = announcements.count
            watch.withLock { $0.take(announcements, time: time) }
        }
    }

    package func changes(since position: ChangePosition?) throws(CacheError) -> CacheChanges {
        watch.withLock { watch in
            // A process that was stopped has not lost the connection yet.
            if watch.isSilent(for: silence) { watch.disconnect() }
            return watch.log.changes(since: position)
        }
    }

    /// Announces changed keys in the background.
    func announce(keys: Set<Int64>) {
        guard !keys.isEmpty else { return }
        let notifier = state.withLock { state in
            state.unannounced?.keys.formUnion(keys)
            return state.notifier
        }
        notifier?.notify()
    }

    /// - Returns: whether they are announced.
    private func announceKeys() async -> Bool {
        let names = state.withLock { state in
            defer { state.unannounced = ChangedNames() }
            return state.unannounced
        }
        if names?.isEmpty == true { return true }
        if (try? await announce(names)) != nil { return true }
        state.withLock { state in
            if let names { state.unannounced?.formUnion(names) } else { state.unannounced = nil }
            if state.unannounced?.keys.count ?? 0 > 10_000 { state.unannounced = nil }
        }
        return false
    }

    /// Announces names, and changes the stamps of others, in one transaction.
    ///
    /// - Parameter names: `nil` if anything may have changed.
    /// - Returns: the position.
    @discardableResult
    func announce(
        _ names: ChangedNames?, stamps: [Int64] = [], isErasure: Bool = false
    ) async throws(CacheError) -> Int64 {
        let process = process
        return try await ask { (connection) throws(PostgresError) in
            try connection.run("SELECT pg_advisory_xact_lock(\(Int64(PostgresJobs.Lock.cache.rawValue))::int, 1)")
            var changed = ChangedNames()
            changed.keys = Set(stamps)
            try connection.run(
                """
                INSERT INTO cache_change (position, process, names, stamps)
                VALUES (nextval('cache_position'), \(process), \(names?.data), \(changed.data))
                """)
            if !stamps.isEmpty {
                try connection.run(
                    """
                    INSERT INTO cache_stamp AS old (name, invalidated, erased, changer)
                    SELECT name, position, CASE WHEN \(isErasure) THEN position ELSE 0 END, \(process)
                    FROM unnest(\(changed.keys.sorted())) AS name, (SELECT max(position) AS position FROM cache_change) AS newest
                    ON CONFLICT (name) DO UPDATE SET invalidated = excluded.invalidated,
                        erased = greatest(old.erased, excluded.erased), changer = excluded.changer, changed_at = now()
                    """)
            }
            let rows = try connection.rows(
                "SELECT max(position) AS position, pg_notify('diamond_cache', '') FROM cache_change")
            return rows.first?.int64("position") ?? 0
        }
    }
}

extension CachePlace {
    /// The place of a cache in a PostgreSQL database, which the processes of many machines share. The tables are in its
    /// schema `diamond`, which is created if it is missing. See <doc:RunningAFleet>.
    ///
    /// - Parameters:
    ///   - address: the server and the database. The user needs the right to create a schema the first time. The password
    ///     in it, or in `PGPASSWORD`, also makes the store's secret: all processes need the same one.
    ///   - capacity: the most bytes of entries, 1 GiB by default. Beyond it, those that were stored or confirmed first
    ///     are evicted. The tables take more.
    public static func postgres(_ address: PostgresAddress, capacity: Int64 = 1 << 30) -> CachePlace {
        .server(address.description) { () throws(CacheError) in PostgresCacheStorage(address, capacity: capacity) }
    }
}

extension CacheError {
    init(_ error: PostgresError) {
        let code: Code =
            switch error.code {
            case .unreachable, .late, .busy, .closed: .unreachable
            case .newerSchema: .newerStore
            case .notPermitted: .cannotOpen
            case .full: .diskFull
            default: .other
            }
        self.init(code, error.description)
    }
}
#endif
