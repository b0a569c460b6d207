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
    /// The file that records the events; `nil` unless the app asks for it.
    let eventFile: EventFile?
    let queries: Queries

    /// Creates an engine. If the store cannot be opened, the engine has no cache, and ``cacheFailure`` has the reason.
    /// Requests are sent nevertheless.
    public init(_ configuration: Configuration = Configuration()) {
        eventFile = Self.eventFile(configuration)
        let activity = Activity(
            rules: KeyRules(own: configuration.rules),
            clock: configuration.clock,
            observers: configuration.observers + [eventFile].compactMap(\.self)
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

    private static func eventFile(_ configuration: Configuration) -> EventFile? {
        guard configuration.recordsEvents, let store = configuration.store else { return nil }
        let now = configuration.now
        return EventFile(store, isSealed: configuration.seal != nil) { WallTime(now()) }
    }

    private static func openCache(
        _ configuration: Configuration, _ activity: Activity
    ) -> (cache: Cache?, failure: CacheError?) {
        let now = configuration.now
        do throws(CacheError) {
            if let open = configuration.cache.open {
                let cache = try Cache(
                    onServer: open(), seal: configuration.seal, compresses: configuration.isCompressing,
                    activity: activity, memoryCapacity: configuration.memoryCapacity, draw: configuration.draw,
                    timing: CacheTiming(now: { WallTime(now()) }, clock: configuration.clock))
                return (cache, nil)
            }
            guard let store = configuration.store else { return (nil, nil) }
            let cache = try Cache(
                store,
                seal: configuration.seal,
                compresses: configuration.isCompressing,
                activity: activity,
                memoryCapacity: configuration.memoryCapacity,
                diskCapacity: configuration.diskCapacity,
                timing: CacheTiming(now: { WallTime(now()) })
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
    /// interceptor, observer, cookie or credential provider is returned within microseconds. With a cache on a server,
    /// one call every 50 milliseconds leaves the actor, because it reads the changes of other processes first. In a
    /// serial lane, requests sent by one actor keep their order.
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
        return try await pipeline.key(of: request)
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

    deinit {
        automaticReplay?.stop()
        members.abandon()
    }
}
