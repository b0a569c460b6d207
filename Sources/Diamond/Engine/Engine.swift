import Foundation

/// Runs requests: owns the transport, the cache and the counter of what is on the wire.
///
/// ```swift
/// let engine = Engine()
/// let response = try await engine.send(Request("https://api.example.com/cities"))
/// ```
///
/// Make one and keep it; close it before a short-lived program ends. Several engines, in one process or in many, may
/// share a store. When the last reference is dropped without ``close(within:)``, connections that are paused, or in a
/// paused lane, are canceled. So are connections that wait for one that was never enqueued and that is no longer
/// referenced. Others run to their end.
public final class Engine: Sendable {
    /// The cache; `nil` when the configuration has no store, or the store could not be opened.
    public let cache: Cache?
    /// The reason why there is no cache though one was configured. Requests are sent without it.
    public let cacheFailure: CacheError?
    /// The activity of the engine: counts, and events for observers.
    public let activity: Activity
    /// The limits of the exchanges on the wire.
    public let lanes: Lanes

    let transport: any Transport
    let members: ConnectionRegistry
    let decoder: any ResponseDecoder
    let calls = ReplayedCalls()
    let sharedStreams = SharedStreams()

    /// Starts an engine. If the store cannot be opened, the engine has no cache, and ``cacheFailure`` has the reason;
    /// requests are sent all the same.
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
        members = ConnectionRegistry(
            Pipeline(configuration, transport, cache, lanes, activity),
            callbackExecutor: configuration.callbackExecutor
        )
        self.activity = activity
        decoder = configuration.decoder
        keepToHolds()
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
                now: { now().milliseconds }
            )
            return (cache, nil)
        } catch {
            return (nil, error)
        }
    }

    var pipeline: Pipeline { members.pipeline }

    /// Sends a request and returns its response, from the cache where the policy allows.
    ///
    /// Canceling the calling task ends the call at once, except for code of the app that looks at an answer and ignores
    /// the cancellation. The call makes no operation, except for a request in a serial lane. Nothing runs on the
    /// caller's actor, code of the app included, except a lookup in the cache's memory: a stored answer that no
    /// interceptor, observer, cookie or credential provider has a say in is returned within microseconds. In a serial
    /// lane, requests sent by one actor keep their order.
    ///
    /// - Throws: ``ConnectionError``. A response with an error status is returned, not thrown, unless the
    ///   request is kept for it (``Request/replay``): that is `queued`.
    public func send(_ request: Request) async throws(ConnectionError) -> Response {
        if let response = pipeline.atHand(request) { return response }
        return try await response(to: request, nil, placed(request, nil))
    }

    /// Takes a place in a serial lane for a request, before anything is waited for.
    ///
    /// - Returns: `nil` where the lane keeps no order.
    func placed(_ request: Request, _ handler: ResponseHandler?) -> Connection? {
        guard lanes.isSerial(request.lane) else { return nil }
        let connection = connection(for: request, handler)
        enqueue(connection)
        return connection
    }

    /// - Parameters:
    ///   - handler: `nil` to take the response as it is.
    ///   - connection: the connection that has its place in the lane already.
    @concurrent
    func response(
        to request: Request,
        _ handler: ResponseHandler?,
        _ connection: Connection?
    ) async throws(ConnectionError) -> Response {
        if let connection { return try await connection.response }
        return try await pipeline.response(to: request, for: Caller(handler: handler))
    }

    /// The identity of a request as this engine sends it: with its base URL, headers, rules, and the identity that its
    /// credential provider names.
    ///
    /// - Throws: ``ConnectionError`` where the request cannot be sent.
    public func key(of request: Request) async throws(ConnectionError) -> RequestKey {
        if let key = pipeline.knownKey(of: request) { return key }
        return try await computedKey(of: request)
    }

    @concurrent
    private func computedKey(of request: Request) async throws(ConnectionError) -> RequestKey {
        try await pipeline.key(of: request)
    }

    /// Erases the entries stored for a request; `false` where there were none.
    ///
    /// - Throws: ``ConnectionError`` where the request cannot be sent, ``CacheError`` where the store cannot be written.
    @discardableResult
    @concurrent
    public func purge(_ request: Request) async throws -> Bool {
        try await revoke(request, isErasure: true)
    }

    /// Marks the entries stored for a request stale (``Cache/invalidate(_:)``); `false` where there was none that was
    /// not marked already.
    ///
    /// - Throws: as ``purge(_:)``.
    @discardableResult
    @concurrent
    public func invalidate(_ request: Request) async throws -> Bool {
        try await revoke(request, isErasure: false)
    }

    private func revoke(_ request: Request, isErasure: Bool) async throws -> Bool {
        let key = try await key(of: request)
        // What was canceled before may be about to write what it has.
        await pipeline.resumeStore.waitForCanceled()
        guard let cache else {
            pipeline.invalidations.add(.key(key), isErasure: isErasure)
            return false
        }
        return try await isErasure ? cache.purge(key) : cache.invalidate(.key(key)) > 0
    }

    /// Forgets an identity: erases its entries, for every process of the store, and its cookies. Call it for a logout.
    /// Exchanges under way for the identity still return to their waiters, but are no longer stored. Its jobs in the
    /// queue are held, for every process, until ``ReplayQueue/release(_:)-(ReplayHold)`` releases the identity: when it
    /// has signed in again. A queue that cannot be written is told to the observers.
    ///
    /// - Returns: the number of entries that were erased.
    @discardableResult
    @concurrent
    public func forget(identity: String) async throws(CacheError) -> Int {
        pipeline.forget(identity)
        pipeline.wire.cookies?.removeAll(of: identity)
        await holdJobs(of: identity)
        return try await cache?.purge(.identity(identity)) ?? 0
    }

    /// Cancels the connections that are paused and can be resumed only through a reference to them, and those that wait
    /// for a connection that can no longer be enqueued. The rest runs to its end.
    deinit { members.abandon() }
}
