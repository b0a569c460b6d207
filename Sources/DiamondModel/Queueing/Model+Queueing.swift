public import Diamond
import Foundation
import HTTPTypes

extension Model {
    /// Returns the jobs of the object's calls, in order: those that wait, are being sent or need review, and ended ones
    /// whose answers were not collected. Other processes may send them.
    ///
    /// The call reads the queue on the calling thread.
    ///
    /// - Throws: ``ModelError`` `noEngine`, `noContext`, `otherIdentity`; `ReplayError` if the queue cannot be read;
    ///   `ConnectionError` if the current identity cannot be determined.
    public final nonisolated(nonsending) func queuedJobs() async throws -> [ReplayJob] {
        try await ModelQueue.queue(of: self).jobs()
    }

    /// Adds a save to the queue, and sends it if it can be sent now.
    ///
    /// - Parameters:
    ///   - mode: Whether to return before the call is sent.
    ///   - method: The call.
    ///   - change: The change that is saved; `nil` for earlier changes.
    ///   - lock: The lock that the caller holds. Released when the save is on disk.
    final nonisolated(nonsending) func queueSave(
        _ mode: SaveMode, as method: SaveMethod, of change: VisibleChange?, releasing lock: AsyncLock
    ) async throws {
        try await queue(mode, releasing: lock) {
            try change?.check()
            return try await enqueueSave(as: method)
        }
    }

    /// Adds a call to the queue, and waits for its answer unless it is sent in the background.
    private nonisolated(nonsending) func queue(
        _ mode: SaveMode, releasing lock: AsyncLock,
        enqueue: nonisolated(nonsending) () async throws -> QueuedCall?
    ) async throws {
        let isAwaited = mode != .queuedInBackground
        if isAwaited { syncing.awaited += 1 }
        defer { if isAwaited { syncing.awaited -= 1 } }
        let call: QueuedCall?
        do {
            defer { lock.release() }
            call = try await enqueue()
        }
        if isAwaited { try await finish(call) }
    }

    /// Waits for the answer to a call. Its failure is the caller's, and not a state of the object.
    private nonisolated(nonsending) func finish(_ call: QueuedCall?) async throws {
        do { try await call?.finish() } catch {
            noteFailure(nil)
            throw error
        }
    }

    private nonisolated(nonsending) func enqueueSave(as method: SaveMethod) async throws -> QueuedCall? {
        let queue = try await ModelQueue.ready(for: self)
        queue.context.putIDs(into: self)
        let waiting = queue.uncollectedCalls
        let isMade = isNew && waiting.contains { $0.subject.call == .create }
        guard (isNew && !isMade) || isDirty || !waiting.isEmpty || method != .automatic else { return nil }
        try validate()
        var call = method.call(isNew: isNew)
        // The queue already has the call that creates the object: this one updates it.
        if isMade, call == .create { call = .update }
        guard call == .update else { return try await queue.enqueue(call, body: body(of: call), of: self) }
        let changes = try queue.changes(of: self, after: waiting)
        return changes.isEmpty ? nil : try await queue.enqueue(call, body: .object(changes), of: self)
    }

    /// Adds a deletion to the queue, and sends it if it can be sent now.
    ///
    /// - Parameters:
    ///   - mode: Whether to return before the call is sent.
    ///   - positions: The positions in collections that the object has left.
    ///   - lock: The lock that the caller holds. Released when the deletion is on disk.
    final nonisolated(nonsending) func queueDestroy(
        _ mode: SaveMode, from positions: [CollectionPosition], releasing lock: AsyncLock
    ) async throws {
        try await queue(mode, releasing: lock) { try await enqueueDestroy(from: positions) }
    }

    private nonisolated(nonsending) func enqueueDestroy(from positions: [CollectionPosition]) async throws
        -> QueuedCall?
    {
        let queue = try await ModelQueue.ready(for: self)
        let calls = queue.context.overlay.calls
        if isNew, !queue.uncollectedCalls.contains(where: { $0.subject.call == .create }) {
            try await discardReferences(among: calls)
            return nil
        }
        queue.context.addPendingDeletion(DeletedModel(model: self, positions: positions), at: queue.key)
        do {
            let call = try await queue.enqueue(.destroy, body: nil, of: self)
            // The queue has merged it with the unsent call that creates the object: neither is sent.
            if !hasQueuedSaves {
                queue.context.endDeletion(queue.key, isDestroyed: false)
                try await discardReferences(among: calls)
            }
            return call
        } catch {
            queue.context.revertDeletion(queue.key)
            throw error
        }
    }

    /// Returns the request of a call for the queue. It contains the local ids of objects without a server id.
    final func request(queueing call: ModelCall, body: JSONValue?) throws -> Request {
        let isOwnIDMissing = isNew && call != .create
        if isOwnIDMissing { syncing.urlID = localID }
        defer { syncing.urlID = nil }
        var request = try resolvedRequest(for: call, body: body)
        request.replay.awaits = references(in: request, of: call)
        guard !isOwnIDMissing || request.replay.awaits.contains(localID.description) else {
            throw ModelError(
                .missingID,
                "request(for:body:) of \(type(of: self)) makes a URL without `modelID`: save it when it has an id"
            )
        }
        if isNew, call == .create {
            request.replay.creates = ReplayCreation(localID.description, paths: Self.idPaths(in: request))
        }
        return request
    }

    /// Returns the local ids of the objects to which a request refers. The call that creates an object may contain the
    /// local id of the object itself, for example in a header of the app.
    final func references(in request: Request, of call: ModelCall) -> Set<String> {
        let names = request.localIDs
        return call == .create ? names.subtracting([localID.description]) : names
    }

    /// Returns whether a save has to wait in the queue for the objects to which it refers.
    ///
    /// - Throws: ``ModelError`` `missingID` if no call creates one of them.
    final func mustQueue(_ save: PendingSave) throws -> Bool {
        let names = save.references
        if names.isEmpty { return false }
        let known = try (try? context?.queueEngine?.queue())?.ids(of: names) ?? [:]
        if let name = names.subtracting(known.keys).min() { throw ModelError.unsaved(name) }
        return true
    }

    /// Puts the new id of an object that was created without the queue into the queued calls that refer to it.
    final nonisolated(nonsending) func assignID() async throws {
        guard let context, let local = tracking.localID, let id = serverID, !context.overlay.calls.isEmpty,
            let queue = try context.queueEngine?.queue()
        else { return }
        try await queue.assign(id.json, to: local.description)
    }

    /// Whether queued calls wait for the id of this new object. Its own calls are queued, too: if the program ended
    /// after a direct one, the id would be lost.
    final var isAwaitedByOthers: Bool {
        guard isNew, let context, let local = tracking.localID?.description else { return false }
        return context.overlay.calls.all.contains { $0.request?.replay.awaits.contains(local) ?? false }
    }

    /// Discards the queued calls that refer to a new object that is not created any more. New objects leave their
    /// collections with their unsent calls.
    ///
    /// - Parameter calls: The calls that waited before the deletion.
    final nonisolated(nonsending) func discardReferences(among calls: WaitingCalls) async throws {
        guard let context, let local = tracking.localID, !calls.isEmpty, let queue = try context.queueEngine?.queue()
        else { return }
        try await queue.discardJobs(awaiting: local.description)
        try context.refreshCalls(isWhole: true)
        for call in calls.all where context.overlay.calls[call.job.id] == nil && call.subject.call == .create {
            guard let type = context.overlay.classes[call.subject.type],
                let model = context.existing(type, for: call.subject), model.isNew, !model.hasQueuedSaves
            else { continue }
            if try queue.job(call.job.id)?.reason == .replaced { model.leaveUnrecorded() }
        }
    }
}

extension ConnectionError {
    /// Whether the server does not have the object: status 404 or 410.
    var saysGone: Bool { code == .badStatus && [404, 410].contains(response?.status.code) }
}
