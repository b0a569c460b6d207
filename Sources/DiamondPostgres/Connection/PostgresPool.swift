#if Postgres && canImport(CDiamondPostgres)
import Diamond
import DiamondSQLite
import Foundation

/// A few connections to a server, each on a thread of its own.
///
/// libpq blocks: while it looks up a name, connects, and reads a password file. It must not block the threads that
/// Swift's tasks share, and one event loop for all connections would stand still, too. So each connection has a thread,
/// which is started when there is work for it and ends a minute after the last. Work that finds all threads busy waits in
/// a line, until its time is up.
package final class PostgresPool: Sendable {
    /// Work for a connection.
    private struct Work: Sendable {
        let deadline: Uptime
        /// Runs with a connection, or with the reason why there is none.
        let run: @Sendable (Result<PostgresConnection, PostgresError>) -> Void
    }

    /// A thread that waits for work.
    private final class Worker: Sendable {
        let id: Int
        let isNeeded = DispatchSemaphore(value: 0)
        let work = Guarded<Work?>(nil)

        init(id: Int) { self.id = id }

        func begin(_ work: Work) {
            self.work.withLock { $0 = work }
            isNeeded.signal()
        }
    }

    private struct State {
        var isClosed = false
        var count = 0
        var made = 0
        var lastID = 0
        /// The threads without work. The last one works first, so that the others end when there is little work.
        var idle: [Worker] = []
        /// The threads that have a connection.
        var connected: Set<Int> = []
        var line = FIFOQueue<Work>()
        /// The number of failed connections since the last good one.
        var failures = 0
        /// No thread connects before this time.
        var nextConnection = Uptime.min

        /// Whether a thread without a connection takes work. After a failure, the others have it first: the server may
        /// allow no more connections.
        var mayConnect: Bool { connected.isEmpty || nextConnection <= .now }

        /// Removes an idle thread that has a connection.
        mutating func takeConnected() -> Worker? {
            idle.lastIndex { connected.contains($0.id) }.map { idle.remove(at: $0) }
        }
    }

    package let address: PostgresAddress
    private let name: String
    private let size: Int
    private let prepare: @Sendable (PostgresConnection) throws(PostgresError) -> Void
    private let state = Guarded(State())

    /// The time after which an idle connection is checked by a round trip before it is used.
    private static let unchecked: Int64 = 30_000
    /// The time after which a thread without work closes its connection and ends.
    private static let idleTime = DispatchTimeInterval.seconds(60)
    private static let backoff = Backoff(base: .milliseconds(50), cap: .seconds(5))

    /// - Parameters:
    ///   - name: what the connections are for, shown in `pg_stat_activity`.
    ///   - size: the largest number of connections.
    ///   - prepare: called with each new connection. What it throws is the error of the work.
    package init(
        _ address: PostgresAddress, name: String = "queue", size: Int = 4,
        prepare: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Void = { _ in }
    ) {
        self.address = address
        self.name = name
        self.size = max(1, size)
        self.prepare = prepare
    }

    deinit { close() }

    /// The server may have ended all idle connections, and each is noticed by a try.
    private var maximumTries: Int { size + 4 }

    /// The number of open or opening connections.
    package var count: Int { state.withLock { $0.count } }

    /// The number of connections so far.
    var madeCount: Int { state.withLock { $0.made } }

    /// Runs a body in a transaction, on a connection that is free.
    ///
    /// A transaction that was lost or refused before its COMMIT, because of the connection or a conflict with another
    /// transaction, is run again. So the body may run several times.
    ///
    /// - Parameters:
    ///   - limit: the limit for the whole time, with the wait for a connection.
    ///   - isRepeatable: whether the transaction may be run again although it may have been committed.
    ///   - body: runs on the connection's thread.
    /// - Throws: ``PostgresError``: `busy` if no connection is free in time; `unreachable`, `late` or `refused`.
    package func transaction<Value: Sendable>(
        within limit: Duration = .seconds(10), isRepeatable: Bool = false,
        _ body: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Value
    ) async throws(PostgresError) -> Value {
        try await repeating(within: limit, isRepeatable: isRepeatable) { (connection) throws(PostgresError) in
            try connection.transaction(body)
        }
    }

    /// Runs a body outside of a transaction, for reading, or for a single change: each statement whose rows are read is a
    /// transaction of its own.
    package func run<Value: Sendable>(
        within limit: Duration = .seconds(10),
        _ body: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Value
    ) async throws(PostgresError) -> Value {
        try await repeating(within: limit, isRepeatable: false) { (connection) throws(PostgresError) in
            let value = try body(connection)
            try connection.syncIfNeeded()
            return value
        }
    }

    /// Does the same as ``run(within:_:)`` for callers that cannot suspend: the calling thread waits.
    package func waitingRun<Value: Sendable>(
        within limit: Duration = .seconds(10),
        _ body: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Value
    ) throws(PostgresError) -> Value {
        let deadline = Uptime.now + limit.milliseconds
        var tries = 0
        while true {
            let isDone = DispatchSemaphore(value: 0)
            let result = Guarded<Result<Value, PostgresError>?>(nil)
            _ = add(
                Work(deadline: deadline) { connection in
                    let value = Result { () throws(PostgresError) in
                        let connection = try connection.get()
                        let value = try body(connection)
                        try connection.syncIfNeeded()
                        return value
                    }
                    result.withLock { $0 = value }
                    isDone.signal()
                })
            isDone.wait()
            do throws(PostgresError) {
                guard let value = result.withLock({ $0 }) else { throw Self.closed }
                return try value.get()
            } catch {
                tries += 1
                let mayRepeat = error.isConflict || error.isLostConnection
                guard mayRepeat, tries < maximumTries, Uptime.now < deadline else { throw error }
            }
        }
    }

    private func repeating<Value: Sendable>(
        within limit: Duration, isRepeatable: Bool,
        _ body: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Value
    ) async throws(PostgresError) -> Value {
        let deadline = Uptime.now + limit.milliseconds
        var tries = 0
        while true {
            do throws(PostgresError) { return try await once(before: deadline, body) } catch {
                let mayRepeat = error.isConflict || error.isLostConnection || (isRepeatable && error.isOutcomeUnknown)
                tries += 1
                // A connection that cannot be made is tried again by its thread.
                guard mayRepeat, tries < maximumTries, Uptime.now < deadline else { throw error }
            }
        }
    }

    private func once<Value: Sendable>(
        before deadline: Uptime, _ body: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Value
    ) async throws(PostgresError) -> Value {
        let promise = Promise<Result<Value, PostgresError>>()
        // Either the work begins, or its caller stops to wait for a thread: never both.
        let isDecided = Guarded(false)
        let decide = { @Sendable in
            isDecided.withLock { isDecided in
                defer { isDecided = true }
                return !isDecided
            }
        }
        let isWaiting = add(
            Work(deadline: deadline) { connection in
                guard decide() else { return }
                do throws(PostgresError) {
                    promise.fulfill(with: .success(try body(try connection.get())))
                } catch {
                    promise.fulfill(with: .failure(error))
                }
            })
        guard isWaiting else { return try await promise.value().get() }
        // The threads do not watch the time of the work in the line.
        let timer = Task { [address] in
            let left = max(0, deadline.milliseconds(since: .now))
            guard (try? await ContinuousClock().sleep(for: .milliseconds(left))) != nil, decide() else { return }
            promise.fulfill(with: .failure(Self.busy(address)))
        }
        defer { timer.cancel() }
        return try await promise.value().get()
    }

    private static func busy(_ address: PostgresAddress) -> PostgresError {
        PostgresError(.busy, "all connections to PostgreSQL at \(address) are in use, and none became free in time")
    }

    /// Closes the connections. Work in the line fails, and running work ends.
    package func close() {
        let (idle, line) = state.withLock { state -> ([Worker], [Work]) in
            state.isClosed = true
            var line: [Work] = []
            while let work = state.line.popFirst() { line.append(work) }
            // The idle threads leave the list themselves, so that work given to one of them a moment ago is not lost.
            return (state.idle, line)
        }
        for worker in idle { worker.isNeeded.signal() }
        for work in line { work.run(.failure(Self.closed)) }
    }

    private static let closed = PostgresError(.closed, "the connections to PostgreSQL were closed")

    // MARK: The line

    /// Gives work to a thread.
    ///
    /// - Returns: whether it waits, because all threads are busy.
    private func add(_ work: Work) -> Bool {
        enum Place { case closed, line, idle(Worker), new(Worker) }
        let place = state.withLock { state -> Place in
            if state.isClosed { return .closed }
            if let worker = state.takeConnected() { return .idle(worker) }
            if state.mayConnect, let worker = state.idle.popLast() { return .idle(worker) }
            guard state.count < size, state.mayConnect else {
                state.line.append(work)
                return .line
            }
            state.count += 1
            state.lastID += 1
            return .new(Worker(id: state.lastID))
        }
        switch place {
        case .closed: work.run(.failure(Self.closed))
        case .line: return true
        case .idle(let worker): worker.begin(work)
        case .new(let worker): start(worker, with: work)
        }
        return false
    }

    private func start(_ worker: Worker, with work: Work) {
        // The thread holds the pool only while it works, so that a pool without owner ends.
        let thread = Thread { [weak self] in
            var connection: PostgresConnection?
            var lastUse = Uptime.now
            var next: Work? = work
            while let work = next {
                if let self {
                    self.run(work, on: &connection, of: worker, lastUse: lastUse)
                } else {
                    work.run(.failure(Self.closed))
                }
                lastUse = .now
                next = Self.next(for: worker, of: { [weak self] in self })
            }
        }
        thread.name = "Diamond PostgreSQL"
        thread.stackSize = 512 << 10
        thread.start()
    }

    /// Waits for the next work of a thread.
    ///
    /// - Returns: `nil` if the thread is to end.
    private static func next(for worker: Worker, of pool: () -> PostgresPool?) -> Work? {
        let (work, isOver) = pool()?.takeOrRest(worker) ?? (nil, true)
        if isOver || work != nil { return work }
        _ = worker.isNeeded.wait(timeout: .now() + idleTime)
        if let work = worker.work.withLock({ $0.take() }) { return work }
        guard pool()?.retire(worker) ?? true else {
            // Work came in the last moment.
            worker.isNeeded.wait()
            return worker.work.withLock { $0.take() }
        }
        return nil
    }

    /// Takes work from the line, or notes that the thread is free.
    private func takeOrRest(_ worker: Worker) -> (Work?, isOver: Bool) {
        state.withLock { state in
            if state.connected.contains(worker.id) || state.mayConnect, let work = state.line.popFirst() {
                return (work, false)
            }
            guard !state.isClosed else {
                state.count -= 1
                return (nil, true)
            }
            state.idle.append(worker)
            return (nil, false)
        }
    }

    /// Removes a thread that had no work for long.
    ///
    /// - Returns: whether it was free.
    private func retire(_ worker: Worker) -> Bool {
        state.withLock { state in
            guard let index = state.idle.firstIndex(where: { $0.id == worker.id }) else { return false }
            state.idle.remove(at: index)
            state.connected.remove(worker.id)
            state.count -= 1
            return true
        }
    }

    // MARK: The connection of a thread

    private func run(_ work: Work, on connection: inout PostgresConnection?, of worker: Worker, lastUse: Uptime) {
        guard work.deadline > .now else { return work.run(.failure(Self.busy(address))) }
        do throws(PostgresError) {
            let open = try usable(connection, lastUse: lastUse, before: work.deadline)
            connection = open
            state.withLock { _ = $0.connected.insert(worker.id) }
            open.limit(until: work.deadline)
            work.run(.success(open))
            if !open.isUsable { drop(&connection, of: worker) }
        } catch {
            drop(&connection, of: worker)
            if passOn(work, after: error) { return }
            work.run(.failure(error))
        }
    }

    /// Lets another thread, or a later connection, do work for which there was no connection.
    private func passOn(_ work: Work, after error: PostgresError) -> Bool {
        let (isPassedOn, worker) = state.withLock { state -> (Bool, Worker?) in
            // Another password does not come by itself.
            guard error.code == .unreachable, state.nextConnection < work.deadline, !state.isClosed else {
                return (false, nil)
            }
            let worker = state.takeConnected()
            if worker == nil { state.line.append(work) }
            return (true, worker)
        }
        worker?.begin(work)
        return isPassedOn
    }

    private func drop(_ connection: inout PostgresConnection?, of worker: Worker) {
        connection = nil
        state.withLock { _ = $0.connected.remove(worker.id) }
    }

    /// Returns the connection if it is still good, otherwise a new one.
    private func usable(
        _ connection: PostgresConnection?, lastUse: Uptime, before deadline: Uptime
    ) throws(PostgresError) -> PostgresConnection {
        if let connection, connection.isOpen, isGood(connection, lastUse: lastUse) { return connection }
        let wait = state.withLock { $0.nextConnection }.milliseconds(since: .now)
        let left = deadline.milliseconds(since: .now)
        if wait > 0 { usleep(UInt32(clamping: min(wait, left) * 1000)) }
        do throws(PostgresError) {
            let connection = try PostgresConnection(address, name: name)
            try prepare(connection)
            state.withLock { state in
                state.failures = 0
                state.made += 1
            }
            return connection
        } catch {
            state.withLock { state in
                let delay = Self.backoff.delay(state.failures, draw: .random(in: 0..<1))
                state.failures += 1
                state.nextConnection = .now + delay.milliseconds
            }
            throw error
        }
    }

    /// Checks a connection that was not used for long by a round trip: a firewall may have forgotten it.
    private func isGood(_ connection: PostgresConnection, lastUse: Uptime) -> Bool {
        guard Uptime.now.milliseconds(since: lastUse) > Self.unchecked else { return true }
        do throws(PostgresError) {
            connection.limit(until: .now + 1000)
            try connection.sync()
            return true
        } catch {
            return false
        }
    }
}
#endif
