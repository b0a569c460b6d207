import DiamondSQLite

/// The exchanges of an engine whose answers are streamed to all who ask the same before the head is here (single flight).
final class SharedStreams: Sendable {
    /// The key that two requests must share to get one handover.
    struct Key: Hashable {
        /// The request with all that the engine adds, and its identity.
        let request: Request
        let key: RequestKey
        /// The most bytes of a body.
        let limit: Int
    }

    /// One that others may join.
    private struct Begun {
        let handover: StreamSession
        let number: Int
        let resolvedAt: InvalidationLog.Instant
        let begunAt: InvalidationLog.Instant
    }

    private struct State {
        var handovers: [Key: Begun] = [:]
        var count = 0
    }

    /// Bytes that a consumer may be behind those who read faster.
    private static let window = 1 << 20

    private let state = Guarded(State())

    /// The number of readers that wait for a head.
    var waiting: Int { state.withLock { $0.handovers.values.reduce(0) { $0 + $1.handover.readers } } }

    /// Streams a response to its caller, and to all callers that ask the same meanwhile, if it may be shared.
    func open(
        _ request: Request,
        limit: Int,
        over pipeline: Pipeline
    ) async throws(ConnectionError) -> StreamedResponse {
        guard pipeline.mayShare(request) else {
            return try await StreamSession.open(request, limit: limit, over: pipeline)
        }
        // As it is sent: nobody is asked again for whom it is.
        let (resolved, epoch) = try await pipeline.resolved(request)
        guard let (key, context) = try pipeline.handoverKey(resolved, at: epoch, limit) else {
            return try await StreamSession.open(resolved, resolvedAt: epoch, limit: limit, over: pipeline)
        }
        return try await open(key, context, over: pipeline)
    }

    /// Joins who asks the same, unless what that brings was invalidated since it began, or begins.
    private func open(
        _ key: Key,
        _ context: RequestContext,
        over pipeline: Pipeline
    ) async throws(ConnectionError) -> StreamedResponse {
        let (handover, consumer) = state.withLock { state in
            if let begun = state.handovers[key], pipeline.mayJoin(begun.resolvedAt, begun.begunAt, context),
                let consumer = begun.handover.join()
            {
                return (nil as StreamSession?, consumer)
            }
            state.count += 1
            let number = state.count
            let handover = StreamSession(limit: key.limit, window: Self.window) { [self] in remove(key, number) }
            state.handovers[key] = Begun(
                handover: handover, number: number, resolvedAt: context.resolvedAt, begunAt: pipeline.invalidations.now)
            return (handover, handover.first)
        }
        handover?.start(key.request, resolvedAt: context.resolvedAt, over: pipeline, isDetached: true)
        if let response = try await consumer.response { return response }
        return try await StreamSession.open(
            key.request, resolvedAt: context.resolvedAt, limit: key.limit, over: pipeline)
    }

    /// Others may have made room for another.
    private func remove(_ key: Key, _ number: Int) {
        let removed = state.withLock { state in
            state.handovers[key]?.number == number ? state.handovers.removeValue(forKey: key) : nil
        }
        // Freed where no lock is held.
        withExtendedLifetime(removed) {}
    }
}

extension Pipeline {
    /// `false` for what is known to ask for an exchange of its own before it is resolved, and for what code of the app sends
    /// in the middle of a request.
    fileprivate func mayShare(_ request: Request) -> Bool {
        !Hook.isRunning && request.cache.mode != .reload && request.body?.readsFiles != true
    }

    /// Whether what an exchange brings is of use to a caller: it was not invalidated since the exchange began, nor has the
    /// identity signed out since it was resolved.
    fileprivate func mayJoin(
        _ resolvedAt: InvalidationLog.Instant,
        _ begunAt: InvalidationLog.Instant,
        _ context: RequestContext
    ) -> Bool {
        !invalidations.includes(context, since: begunAt)
            && !invalidations.hasLogout(of: context.wire.identity, since: resolvedAt)
    }

    fileprivate func resolved(_ request: Request) async throws(ConnectionError) -> (Request, epoch: Int) {
        let epoch = invalidations.now
        return (try await environment.resolve(request, within: time.left(of: request)), epoch)
    }

    /// `nil` for what asks for an exchange of its own, as with ``ExchangeSharing/key(of:)``.
    fileprivate func handoverKey(
        _ resolved: Request,
        at epoch: Int,
        _ limit: Int
    ) throws(ConnectionError) -> (SharedStreams.Key, RequestContext)? {
        let context = RequestContext(
            try ResolvedRequest(resolved, environment.rules), for: Caller(), at: epoch, cookies: wire.cookies,
            now: wire.date)
        return context.identity.map { identity in
            (SharedStreams.Key(request: resolved, key: identity.key, limit: limit), context)
        }
    }
}
