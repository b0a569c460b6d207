import Foundation

/// Runs requests: owns the transport, the cache and the counter of what is on the wire.
///
/// ```swift
/// let engine = Engine()
/// let response = try await engine.send(Request("https://api.example.com/cities"))
/// ```
///
/// Make one and keep it; close it before a short-lived program ends. Several engines, in one process or in many, may
/// share a store. Where the last reference is dropped without ``close(within:)``, connections that are paused, or in a
/// paused lane, are canceled, and others come to their end.
public final class Engine: Sendable {
    /// The cache; `nil` when the configuration has no store, or the store could not be opened.
    public let cache: Cache?
    /// Why there is no cache though one was configured. Requests go on without it.
    public let cacheFailure: CacheError?
    public let activity: Activity
    /// What limits the exchanges on the wire.
    public let lanes: Lanes

    private let transport: any Transport
    private let members: Members
    let decoder: any ResponseDecoder

    /// Starts an engine. A store that cannot be opened turns the cache off, which is told in ``cacheFailure``; it never
    /// keeps a request from being sent.
    public init(_ configuration: Configuration = Configuration()) {
        let activity = Activity(
            rules: KeyRules(own: configuration.rules),
            clock: configuration.clock,
            observers: configuration.observers
        )
        (cache, cacheFailure) = Self.openCache(configuration, activity)
        transport = Self.transport(of: configuration)
        lanes = Lanes(
            width: configuration.width,
            originWidth: configuration.originWidth,
            limits: configuration.lanes
        )
        members = Members(
            Pipeline(configuration, transport, cache, lanes, activity),
            callbackExecutor: configuration.callbackExecutor
        )
        self.activity = activity
        decoder = configuration.decoder
    }

    private static func openCache(_ configuration: Configuration, _ activity: Activity) -> (Cache?, CacheError?) {
        guard let store = configuration.store else { return (nil, nil) }
        do throws(CacheError) {
            let now = configuration.now
            let cache = try Cache(
                store,
                seal: configuration.seal,
                compresses: configuration.isCompressing,
                activity: activity,
                memoryCapacity: configuration.memoryCapacity,
                diskCapacity: configuration.diskCapacity,
                now: { Int64(now().timeIntervalSince1970 * 1000) }
            )
            return (cache, nil)
        } catch {
            return (nil, error)
        }
    }

    var pipeline: Pipeline { members.pipeline }

    /// Sends a request and returns its response, from the cache where the policy allows.
    ///
    /// Makes no operation, but for a request in a serial lane. Canceling the calling task ends the call at once.
    ///
    /// - Throws: ``ConnectionError``. A response with an error status is returned, not thrown.
    public func send(_ request: Request) async throws(ConnectionError) -> Response { try await send(request, nil) }

    /// - Parameter acceptance: `nil` to take what comes as it is.
    func send(_ request: Request, _ acceptance: Acceptance?) async throws(ConnectionError) -> Response {
        guard lanes[request.lane].isSerial else {
            return try await pipeline.response(to: request, asker: Asker(acceptance: acceptance))
        }
        let connection = connection(for: request, acceptance)
        enqueue(connection)
        return try await connection.response
    }

    /// The identity of a request as this engine sends it: with its base URL, headers, rules, and the identity that its
    /// credential provider names.
    ///
    /// - Throws: ``ConnectionError`` where the request cannot be sent.
    public func key(of request: Request) async throws(ConnectionError) -> RequestKey {
        try await pipeline.key(of: request)
    }

    /// Erases what is stored for a request; `false` where there was nothing.
    @discardableResult
    public func purge(_ request: Request) async throws -> Bool {
        let key = try await key(of: request)
        // What was canceled before may be about to write what it has.
        await pipeline.holders.settle()
        return try await cache?.purge(key) ?? false
    }

    /// Forgets what an identity has: its entries are erased, for every process of the store, and its cookies are. For a
    /// logout; what is under way on its behalf is returned to those who wait, and stored no more.
    ///
    /// - Returns: how many entries there were.
    @discardableResult
    public func forget(identity: String) async throws(CacheError) -> Int {
        pipeline.forgotten.add(identity)
        pipeline.wire.cookies?.removeAll(of: identity)
        return try await cache?.forget(identity: identity) ?? 0
    }

    /// Makes a connection of a request, ready to be given dependencies and enqueued.
    public func connection(for request: Request) -> Connection {
        let connection = Connection(request)
        connection.belong(to: members)
        return connection
    }

    func connection(for request: Request, _ acceptance: Acceptance?) -> Connection {
        let connection = connection(for: request)
        connection.take(by: acceptance)
        return connection
    }

    /// Makes a connection of what another was, as ``Connection/init(_:)-(ConnectionSnapshot)`` does, for this engine.
    public func connection(from snapshot: ConnectionSnapshot) -> Connection {
        let connection = Connection(snapshot)
        connection.belong(to: members)
        return connection
    }

    /// Runs a connection when its dependencies have finished, whichever engine made it. Enqueued again, it is left where
    /// it is.
    public func enqueue(_ connection: Connection) { members.enqueue(connection) }

    /// - Returns: `false` when the connection is run by an engine already, or has finished; else it is to be started.
    func add(_ connection: Connection) -> Bool { members.add(connection) }

    /// Runs a request as a connection, and returns it.
    @discardableResult
    public func enqueue(_ request: Request) -> Connection {
        let connection = connection(for: request)
        enqueue(connection)
        return connection
    }

    /// Sends a request and calls back with its response, from the cache where the policy allows, or with the error: once,
    /// never before this has returned. For programs that do not `await`.
    ///
    /// ```swift
    /// engine.send(request) { result in
    ///     show(result)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - request: in a serial lane, those behind it wait until `callback` has returned.
    ///   - executor: where `callback` is called; `nil` for ``Configuration/callbackExecutor``.
    ///   - callback: called also when the connection is canceled.
    /// - Returns: the connection, to be canceled or paused.
    @discardableResult
    public func send(
        _ request: Request,
        on executor: CallbackExecutor? = nil,
        then callback: @escaping @Sendable (Result<Response, ConnectionError>) -> Void
    ) -> Connection {
        let connection = connection(for: request).onResult(on: executor, callback)
        enqueue(connection)
        return connection
    }

    /// The connections that the engine runs, in the order in which they were enqueued: those that wait, those on their way,
    /// and those that are paused; each until it has finished. Calls to ``send(_:)->Response`` are not among them.
    public var connections: [Connection] { members.all }

    /// Cancels the connections of this engine that a predicate picks out of all that have not finished: by the tags of
    /// their requests, by lane, by URL. Calls to ``send(_:)->Response`` are canceled with their tasks.
    ///
    /// - Parameter predicate: called in no order; be short.
    /// - Returns: how many there were.
    @discardableResult
    public func cancel(where predicate: (Connection) -> Bool) -> Int {
        let chosen = members.all.filter(predicate)
        for connection in chosen { connection.cancel() }
        return chosen.count
    }

    /// Returns when every refresh behind a stale answer has ended (`staleWhileRevalidate`).
    public func settle() async { await pipeline.refreshes.settle() }

    /// Ends what is under way, closes every socket and brings to disk what is stored. Later sends that need the network
    /// fail.
    ///
    /// Answers reach the disk a moment after they are returned: a program that ends at once should close its engine, or
    /// `await cache?.flush()`, before. The files of the cache are closed with the last reference to the engine or the cache.
    ///
    /// - Parameter limit: how long what is under way, or waits, may take to come to its end by itself, but for what is
    ///   paused; then it is canceled, and waited for for 5 seconds at most: code of the app that does not heed a cancellation
    ///   holds nobody up for longer. None by default. What is sent meanwhile counts, too: a server
    ///   that shuts down stops to take requests first. Canceling the calling task ends the limit.
    public func close(within limit: Duration = .zero) async {
        if limit > .zero { await rest(for: limit, by: pipeline.wire.repetitions.clock) }
        for connection in members.all { connection.cancel() }
        pipeline.refreshes.cancel()
        pipeline.streams.cancel()
        await transport.close()
        await pipeline.holders.settle()
        lanes.open()
        // By a clock that goes: who has canceled waits for no other.
        await rest(for: .seconds(5), by: ExchangeClock(ContinuousClock()))
        await cache?.flush()
    }

    /// Waits until nothing is under way.
    private func rest(for limit: Duration, by clock: ExchangeClock) async {
        _ = await clock.limit(limit) { [activity] in await activity.idle() }
    }

    /// What is paused, and can be resumed only by whoever has the connection, is canceled; the rest comes to its end.
    deinit { members.abandon() }
}
