import Diamond
import HTTPTypes

extension Model {
    /// Deletes the object on the server, and removes it from every collection.
    ///
    /// A new object leaves its collections, and nothing is sent. If the queue has already sent the call that creates
    /// it, the deletion waits in the queue for the server's id (<doc:Queueing>). Objects whose unsent
    /// calls refer to it are not created either. The status 404 or 410 counts as
    /// success. If the call fails, the object returns to its position in each collection.
    ///
    /// - Parameter mode: The time at which the object leaves its collections.
    /// - Throws: The `ConnectionError` of the call; ``ModelError`` `noEngine`, `noContext`, `noResource`,
    ///   `otherIdentity`; `CancellationError`.
    public final nonisolated(nonsending) func destroy(_ mode: SaveMode = .optimistic) async throws {
        // The URL may come from a collection, which the object leaves below.
        syncing.server = server
        // The positions that the object has left already.
        var left = mode == .wait ? [] : CollectionPosition.remove(self, isEdit: false)
        let positions = mode == .wait ? CollectionPosition.all(of: self) : left
        let order = context?.order
        let time = order?.begin() ?? .beginning
        defer { order?.end(time) }
        do {
            let lock = syncing.lock
            try await lock.acquire()
            await context?.prepareSave(of: type(of: self))
            if mode.isQueued || hasQueuedSaves || isAwaitedByOthers {
                if mode == .wait { left = CollectionPosition.remove(self, isEdit: false) }
                return try await queueDestroy(mode, from: left, releasing: lock)
            }
            defer { lock.release() }
            guard let id = serverID else { return leaveUnrecorded() }
            let engine = try requiredEngine()
            try await checkIdentity()
            try await Self.delete(try sentRequest(for: .destroy, body: nil), with: engine)
            order?.noteDestroyed(ModelKey(type(of: self), id))
            tracking.isDestroyed = true
        } catch {
            for position in left.reversed() { position.restoreUnrecorded(self) }
            throw error
        }
        leaveUnrecorded()
        for position in positions {
            position.core.confirmMembership(of: [self])
            position.core.pagerIfAny?.noteDestroyed()
        }
    }

    private static func delete(_ request: Request, with engine: Engine) async throws {
        do {
            _ = try await engine.successfulResponse(to: request)
        } catch {
            guard error.saysGone else { throw error }
        }
    }
}
