import DiamondSQLite

/// The streamed exchanges of an engine that are shared. Every caller that sends the same request before the head
/// arrives gets the same stream.
final class SharedStreams: Sendable {
    /// The key of a shared exchange. Requests with equal keys share it.
    struct Key: Hashable {
        /// The request with the engine's additions, its identity included.
        let request: Request
        let key: RequestKey
        /// The greatest size of the body in bytes.
        let limit: Int
    }

    /// A session that other callers may join.
    private struct OpenSession {
        let session: StreamSession
        let resolvedAt: LogPosition
        let begunAt: LogPosition
    }

    /// The maximum number of bytes by which the fastest consumer may be ahead of the slowest one.
    private static let window = 1 << 20

    private let sessions = Guarded<[Key: OpenSession]>([:])

    /// The number of readers that wait for a head.
    var waiting: Int { sessions.withLock { $0.values.reduce(0) { $0 + $1.session.readers } } }

    /// Streams a response to its caller, and, if it may be shared, to all callers that send the same request meanwhile.
    func open(
        _ request: Request,
        limit: Int,
        over pipeline: Pipeline
    ) async throws(ConnectionError) -> StreamedResponse {
        guard pipeline.canShare(request) else {
            return try await StreamSession.open(request, limit: limit, over: pipeline)
        }
        // Resolved once, so that the credential provider is not called again.
        let (resolved, position) = try await pipeline.resolved(request)
        guard let (key, context) = try pipeline.sharingKey(of: resolved, at: position, limit: limit) else {
            return try await StreamSession.open(resolved, resolvedAt: position, limit: limit, over: pipeline)
        }
        return try await open(key, context: context, over: pipeline)
    }

    /// Joins the open session of a key, unless its response was invalidated since it began; else begins a session.
    private func open(
        _ key: Key,
        context: RequestContext,
        over pipeline: Pipeline
    ) async throws(ConnectionError) -> StreamedResponse {
        let (session, consumer) = sessions.withLock { sessions in
            if let open = sessions[key],
                pipeline.canJoin(resolvedAt: open.resolvedAt, begunAt: open.begunAt, for: context),
                let consumer = open.session.join()
            {
                return (nil as StreamSession?, consumer)
            }
            let session = StreamSession(limit: key.limit, window: Self.window) { [self] in remove($0, under: key) }
            sessions[key] = OpenSession(
                session: session, resolvedAt: context.resolvedAt, begunAt: pipeline.invalidations.position)
            return (session, session.first)
        }
        session?.start(key.request, resolvedAt: context.resolvedAt, over: pipeline, isDetached: true)
        if let response = try await consumer.response { return response }
        return try await StreamSession.open(
            key.request, resolvedAt: context.resolvedAt, limit: key.limit, over: pipeline)
    }

    /// Removes a session, unless another one has replaced it.
    private func remove(_ session: StreamSession, under key: Key) {
        let removed = sessions.withLock { sessions in
            sessions[key]?.session === session ? sessions.removeValue(forKey: key) : nil
        }
        // Released outside the lock.
        withExtendedLifetime(removed) {}
    }
}

extension Pipeline {
    /// Returns whether a request may share an exchange, as far as that is known before it is resolved.
    ///
    /// A request that code of the app sends within another request shares none. Neither do requests of a shared cache,
    /// because only the response says whether other callers may have it.
    fileprivate func canShare(_ request: Request) -> Bool {
        lookup.kind == .private && !Hook.isRunning && request.cache.mode != .reload && request.body?.readsFiles != true
    }

    /// Returns whether a caller may use the response of an exchange: it was not invalidated since the exchange began,
    /// and the identity has not signed out since the request was resolved.
    fileprivate func canJoin(
        resolvedAt: LogPosition,
        begunAt: LogPosition,
        for context: RequestContext
    ) -> Bool {
        !invalidations.includes(context, since: begunAt)
            && !invalidations.hasLogout(of: context.wire.identity, since: resolvedAt)
    }

    fileprivate func resolved(
        _ request: Request
    ) async throws(ConnectionError) -> (request: Request, position: LogPosition) {
        let position = invalidations.position
        return (try await environment.resolve(request, within: time.left(of: request)), position)
    }

    /// Returns the key of a request; `nil` if it needs an exchange of its own, as for ``ExchangeSharing/key(of:)``.
    fileprivate func sharingKey(
        of resolved: Request,
        at position: LogPosition,
        limit: Int
    ) throws(ConnectionError) -> (key: SharedStreams.Key, context: RequestContext)? {
        let context = RequestContext(
            try ResolvedRequest(resolved, rules: environment.rules), for: Caller(), at: position,
            cookies: exchangeEnvironment.cookies,
            now: exchangeEnvironment.date)
        return context.identity.map { identity in
            (SharedStreams.Key(request: resolved, key: identity.key, limit: limit), context)
        }
    }
}
