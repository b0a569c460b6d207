import Foundation

/// An engine sends requests. It owns the transport, the cache, the replay queue, the lanes and the activity.
///
/// ```swift
/// let engine = Engine()
/// let response = try await engine.send(Request("https://api.example.com/cities"))
/// ```
///
/// Create one and retain it. Close it before a short-lived program ends. Several engines, in one process or in many,
/// may share a store. If the engine is deallocated without ``close(within:)``, running connections finish. Connections
/// that are paused, or in a paused lane, are canceled. So are those that wait for a connection that was never started
/// and is no longer referenced.
public final class Engine: Sendable {
    /// The cache; `nil` when the configuration has no store, or the store could not be opened.
    public let cache: Cache?
    /// The reason why a configured cache is missing; `nil` otherwise. Requests are sent without it.
    public let cacheFailure: CacheError?
    /// The activity of the engine: counts, and events for observers.
    public let activity: Activity
    /// The limits of the exchanges on the wire.
    public let lanes: Lanes

    let transport: any Transport
    let members: ConnectionRegistry
    let replayHandlers: ReplayHandlers
    /// The replayer that the engine runs itself; `nil` if the app runs replayers.
    let automaticReplay: AutomaticReplay?
    let sharedStreams = SharedStreams()
    let queries: Queries

    /// Creates an engine. If the store cannot be opened, the engine has no cache, and ``cacheFailure`` has the reason.
    /// Requests are sent nevertheless.
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
            Pipeline(configuration, transport: transport, cache: cache, lanes: lanes, activity: activity),
            callbackExecutor: configuration.callbackExecutor
        )
        queries = Queries(over: members.pipeline)
        self.activity = activity
        replayHandlers = ReplayHandlers(configuration.replayHandlers, decoder: configuration.decoder)
        automaticReplay =
            configuration.replays == .automatically ? AutomaticReplay(clock: configuration.clock) : nil
        applyHolds()
        startReplays(passing: configuration.replayPass)
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

    /// The decoder of bodies for which the app names none.
    var decoder: any ResponseDecoder { pipeline.exchangeEnvironment.decoder.decoder }

    /// Sends a request and returns its response, from the cache if the policy allows.
    ///
    /// Canceling the calling task ends the call at once. Only code of the app that validates or decodes a response can
    /// delay the end, by ignoring the cancellation. The call creates no `Operation`, except for a request in a serial
    /// lane. Only a lookup in the memory tier runs on the caller's actor: a stored response that involves no
    /// interceptor, observer, cookie or credential provider is returned within microseconds. In a serial lane, requests
    /// sent by one actor keep their order.
    ///
    /// - Throws: ``ConnectionError``. A response with an error status is returned, not thrown, unless the request is
    ///   queued because of it (``Request/replay``): then the error is `queued`.
    public func send(_ request: Request) async throws(ConnectionError) -> Response {
        if let response = pipeline.responseInMemory(to: request) { return response }
        return try await response(to: request, handler: nil, connection: startIfSerial(request, handler: nil))
    }

    /// Starts a request of a serial lane as a connection, before any suspension, so that requests keep their order.
    ///
    /// - Returns: the connection; `nil` if the lane is not serial.
    func startIfSerial(_ request: Request, handler: ResponseHandler?) -> Connection? {
        guard lanes.isSerial(request.lane) else { return nil }
        let connection = connection(for: request, handler: handler)
        start(connection)
        return connection
    }

    /// Returns the response to a request.
    ///
    /// - Parameters:
    ///   - handler: validates and decodes the response; `nil` to accept it as it is.
    ///   - connection: the connection of a request in a serial lane.
    @concurrent
    func response(
        to request: Request,
        handler: ResponseHandler?,
        connection: Connection?
    ) async throws(ConnectionError) -> Response {
        if let connection { return try await connection.response }
        return try await pipeline.response(to: request, for: Caller(handler: handler))
    }

    /// Returns the key of a request as this engine sends it: with its base URL, headers, rules, and the identity that
    /// its credential provider names.
    ///
    /// - Throws: ``ConnectionError`` if the request cannot be sent.
    public func key(of request: Request) async throws(ConnectionError) -> RequestKey {
        if let key = pipeline.knownKey(of: request) { return key }
        return try await computedKey(of: request)
    }

    @concurrent
    private func computedKey(of request: Request) async throws(ConnectionError) -> RequestKey {
        try await pipeline.key(of: request)
    }

    /// Returns the decision about a request, given what is stored now. Sends nothing.
    @concurrent
    package func preview(of request: Request) async throws(ConnectionError) -> CachePreview {
        try await pipeline.preview(of: request)
    }

    /// Returns the reason why the rules forbid to store a response that the server has sent; `nil` if they allow it.
    ///
    /// - Parameters:
    ///   - response: the response to the request.
    ///   - bodySize: the size of its body.
    @concurrent
    package func storeRefusal(
        of response: Response,
        bodySize: Int,
        to request: Request
    ) async throws(ConnectionError) -> StoreRefusal? {
        try await pipeline.storeRefusal(of: response, bodySize: bodySize, to: request)
    }

    /// Erases the entries stored for a request.
    ///
    /// - Returns: `false` if there were none.
    /// - Throws: ``ConnectionError``: if the store cannot be written, `other` with the ``CacheError`` as the cause.
    @discardableResult
    @concurrent
    public func purge(_ request: Request) async throws(ConnectionError) -> Bool {
        try await revoke(request, isErasure: true)
    }

    /// Marks the entries stored for a request stale (``Cache/invalidate(_:)``).
    ///
    /// - Returns: `false` if all of them were marked already, or there were none.
    /// - Throws: the errors of ``purge(_:)->Bool``.
    @discardableResult
    @concurrent
    public func invalidate(_ request: Request) async throws(ConnectionError) -> Bool {
        try await revoke(request, isErasure: false)
    }

    private func revoke(_ request: Request, isErasure: Bool) async throws(ConnectionError) -> Bool {
        let key = try await key(of: request)
        // Canceled exchanges may still be storing their partial responses.
        await pipeline.store.locks.waitForCanceled()
        do throws(CacheError) {
            return try await isErasure ? purge(.key(key)) > 0 : invalidate(.key(key)) > 0
        } catch {
            throw ConnectionError(.other, error.message, cause: error)
        }
    }

    /// Erases the stored entries of a selection (``Cache/purge(_:)-(CacheSelection)``). Observed queries among them are
    /// fetched again.
    ///
    /// ```swift
    /// try await engine.purge(.host("api.example.com"))
    /// ```
    ///
    /// - Returns: the number of erased entries; 0 without a cache.
    @discardableResult
    @concurrent
    public func purge(_ selection: CacheSelection) async throws(CacheError) -> Int {
        guard let cache else { return revokeUnstored(selection, isErasure: true) }
        return try await cache.purge(selection)
    }

    /// Marks the stored entries of a selection stale (``Cache/invalidate(_:)``). Observed queries among them are
    /// fetched again.
    ///
    /// ```swift
    /// try await engine.invalidate(.tag("cities"))
    /// ```
    ///
    /// - Returns: the number of newly marked entries; 0 without a cache.
    @discardableResult
    @concurrent
    public func invalidate(_ selection: CacheSelection) async throws(CacheError) -> Int {
        guard let cache else { return revokeUnstored(selection, isErasure: false) }
        return try await cache.invalidate(selection)
    }

    /// Notes for running exchanges and observed queries that responses are outdated.
    private func revokeUnstored(_ selection: CacheSelection, isErasure: Bool) -> Int {
        pipeline.invalidations.add(selection, isErasure: isErasure)
        pipeline.invalidations.announce(CacheInvalidation(of: [selection], isErasure: isErasure))
        return 0
    }

    /// Forgets an identity, for a logout: erases its entries, for every process of the store, its cookies, and its jobs
    /// that have ended, with their answers, except those that open jobs need. What is erased is overwritten in the
    /// files. <doc:SigningIn> lists what stays.
    ///
    /// Running exchanges for the identity still return their responses to their callers, but do not store them, and
    /// failed ones are not added to the queue. The open jobs of the identity are held, for every process, until
    /// ``ReplayQueue/release(_:)-(ReplayHold)`` releases them after the next login. Until then, lists of jobs leave them
    /// out (``ReplayFilter/includesSignedOut``).
    ///
    /// If something was erased from a file in clear or from the queue, that file is rewritten, which takes time in
    /// proportion to its size. A program that ends before that leaves it to the next one that uses the store.
    ///
    /// - Parameters:
    ///   - identity: the identity.
    ///   - discardsJobs: whether to erase the open jobs of the identity, too. The requests that they hold are never
    ///     sent, except those that are being sent already. Nothing has to be released after the next login. Default:
    ///     `false`.
    /// - Returns: the number of entries that were erased.
    /// - Throws: the error of ``Cache/purge(_:)-(CacheSelection)``; ``cacheFailure`` if the store could not be opened,
    ///   so that its entries stay; the failure of the queue, after the entries were erased. The observers get it, too.
    @discardableResult
    @concurrent
    public func forget(identity: String, discardingJobs discardsJobs: Bool = false) async throws(CacheError) -> Int {
        pipeline.forget(identity)
        pipeline.exchangeEnvironment.cookies?.removeAll(of: identity)
        let failure = await forgetJobs(of: identity, discarding: discardsJobs)
        let count = try await eraseEntries(of: identity)
        if let failure { throw failure }
        return count
    }

    deinit {
        automaticReplay?.stop()
        members.abandon()
    }
}
