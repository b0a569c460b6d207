import DiamondSQLite

/// The exchanges of an engine whose answers are streamed to all who ask the same before the head is here (single flight).
final class SharedHandovers: Sendable {
    /// What two must ask to share one.
    struct Key: Hashable {
        /// With all that the engine adds, and for whom it is.
        let request: Request
        let key: RequestKey
        /// Bytes of a body at most.
        let limit: Int
        /// What ``Forgotten`` counted when it was asked for: who has signed in again joins nobody from before.
        let epoch: Int
    }

    private struct State {
        var handovers: [Key: (handover: Handover, number: Int)] = [:]
        var count = 0
    }

    /// Bytes that a consumer may be behind those who read faster.
    private static let window = 1 << 20

    private let state = Guarded(State())

    /// How many wait for a head.
    var waiting: Int { state.withLock { $0.handovers.values.reduce(0) { $0 + $1.handover.readers } } }

    /// Streams an answer to who asks, and to all who ask the same meanwhile where that may be shared.
    func open(
        _ request: Request,
        limit: Int,
        over pipeline: Pipeline
    ) async throws(ConnectionError) -> StreamedResponse {
        guard let key = try await pipeline.handoverKey(request, limit) else {
            return try await Handover.open(request, limit: limit, over: pipeline)
        }
        return try await open(key, over: pipeline)
    }

    /// Joins who asks the same, or begins.
    private func open(_ key: Key, over pipeline: Pipeline) async throws(ConnectionError) -> StreamedResponse {
        let (handover, consumer) = state.withLock { state in
            if let consumer = state.handovers[key]?.handover.join() { return (nil as Handover?, consumer) }
            state.count += 1
            let number = state.count
            let handover = Handover(limit: key.limit, window: Self.window) { [self] in remove(key, number) }
            state.handovers[key] = (handover, number)
            return (handover, handover.first)
        }
        handover?.start(key.request, over: pipeline, isDetached: true)
        do throws(ConnectionError) { return try await consumer.response } catch {
            guard error.code == .unshared else { throw error }
            return try await Handover.open(key.request, limit: key.limit, over: pipeline)
        }
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
    /// `nil` for what asks for an exchange of its own, as with ``Question/flightKey(_:_:)``, and for what code of the app
    /// sends in the middle of a request.
    fileprivate func handoverKey(_ request: Request, _ limit: Int) async throws(ConnectionError) -> SharedHandovers.Key?
    {
        guard !Hook.isRunning, request.cache.mode != .reload, request.body?.readsFiles != true else { return nil }
        let epoch = forgotten.count
        // As it is sent: nobody is asked again for whom it is.
        let resolved = try await environment.resolve(request)
        let passage = try Passage(resolved, rules: environment.rules, at: epoch).considering(
            wire.cookies, at: wire.date)
        return passage.identity.map { SharedHandovers.Key(request: resolved, key: $0.key, limit: limit, epoch: epoch) }
    }
}
