import Diamond
import HTTPTypes

extension Model {
    /// Deletes the object: on the server, and from every collection.
    ///
    /// A new object leaves its collections, and nothing is sent. A server that does not know the object (404, 410) has
    /// confirmed it. A call that fails leaves all as it was, each collection with the object in its place.
    ///
    /// - Parameter mode: when the collections lose the object.
    /// - Throws: `ConnectionError` of the call, ``ModelError`` `noEngine`, `noResource`, `CancellationError`.
    public final nonisolated(nonsending) func destroy(_ mode: SaveMode = .optimistic) async throws {
        // A collection may have the URL.
        syncing.server = server
        let isSeenAtOnce = mode != .wait
        let places = isSeenAtOnce ? CollectionPlace.leave(self) : CollectionPlace.all(of: self)
        let order = context?.order
        let time = order?.begin() ?? 0
        defer { order?.end(time) }
        do {
            let lock = syncing.lock
            try await lock.acquire()
            if mode == .queued || hasQueuedSaves {
                return try await queueDestroy(
                    from: isSeenAtOnce ? places : CollectionPlace.leave(self), releasing: lock)
            }
            defer { lock.release() }
            guard let id = serverID else { return leaveCollections() }
            let engine = try requiredEngine()
            try await Self.delete(try request(for: .destroy, body: nil), with: engine)
            order?.noteDestroyed(ModelKey(type(of: self), id))
        } catch {
            if isSeenAtOnce { for place in places.reversed() { place.restore(self) } }
            throw error
        }
        leaveCollections()
        for place in places { place.core.pagerIfAny?.noteDestroyed() }
    }

    private static func delete(_ request: Request, with engine: Engine) async throws {
        do {
            _ = try await engine.successfulResponse(to: request)
        } catch {
            guard error.saysGone else { throw error }
        }
    }
}
