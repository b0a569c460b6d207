import Diamond

extension ModelContext {
    /// Returns the objects of a class whose calls wait in the queue, and creates new objects that are not live, with
    /// their previous local ids. For new objects that no collection loads with its list.
    ///
    /// The context does not retain the objects.
    ///
    /// - Returns: The new objects and the live ones, in the order of their calls, without deleted ones.
    /// - Throws: `ReplayError` if the queue cannot be read; ``ModelError`` `noEngine`; `otherIdentity` if the context's
    ///   objects belong to another identity than the current one. `ConnectionError` if that cannot be determined.
    public nonisolated(nonsending) func queuedModels<Object: Model>(
        _ type: Object.Type = Object.self
    ) async throws -> [Object] {
        _ = try requiredQueue()
        _ = try await identity(for: type)
        try refreshCalls(isWhole: true)
        follow()
        let name = overlay.name(of: type)
        // Answers that came earlier are announced by no change of the queue.
        if engine?.replaysAutomatically == true { await collectEnded() }
        let new = newModels(of: type, in: nil)
        let calls = overlay.calls.all.filter { $0.subject.type == name }
        var known: Set<Model> = []
        // Refused new objects have no calls.
        let models = calls.compactMap { existing(type, for: $0.subject) } + new
        return models.compactMap { model in
            let own = self.calls(of: model)
            guard !own.isEmpty || model.isNew, !own.endInDeletion, known.insert(model).inserted else { return nil }
            return model as? Object
        }
    }

    /// Applies the answers to queued saves and deletions: new objects get the server's id, changes count as saved, and
    /// calls that wait for an id are sent.
    ///
    /// Call it when the program starts, and whenever a replayer may have sent calls. The queue stores each answer until
    /// ``recordSaves`` has returned for it. If the program ends before that, it gets the answer again. Applying an
    /// answer twice changes nothing.
    ///
    /// A context whose engine replays automatically applies the answers by itself. Then the call returns failures,
    /// calls that need review, and answers that were not applied yet, such as those of an earlier run.
    ///
    /// - Parameter types: The classes whose answers are applied, for the current identity.
    /// - Returns: The saves and deletions that were answered since the last call, in the order in which they were
    ///   queued, and the calls that need review since then (``QueuedSave/failure``). A save or deletion is left out if
    ///   its own `save` or `destroy` call has already returned or thrown its outcome.
    /// - Throws: `ReplayError` if the queue cannot be read or written, and the error that ``recordSaves`` throws; the
    ///   answers stay in the queue then. ``ModelError`` `noEngine`, `otherIdentity`. `ConnectionError` if the current
    ///   identity cannot be determined.
    @discardableResult
    public nonisolated(nonsending) func collectSaves(of types: Model.Type...) async throws -> [QueuedSave] {
        let saves = try await collect(types) { _ in true }
        defer { unreported = [] }
        return unreported + saves
    }

    /// Collects answers before or after another call. The next ``collectSaves(of:)`` returns them, and repeats what
    /// fails here. If the engine replays automatically, it returns only the failures among them.
    ///
    /// - Parameter isOwn: Whether the last answer belongs to the caller's call, which reports it itself.
    nonisolated(nonsending) func collectForLater(
        _ types: [Model.Type], isOwn: Bool = false, where isIncluded: @escaping (ReplayJob) -> Bool
    ) async {
        guard let saves = try? await collect(types, where: isIncluded) else { return }
        let others = isOwn ? saves.dropLast() : saves[...]
        unreported += engine?.replaysAutomatically == true ? others.filter { $0.failure != nil } : Array(others)
    }

    private nonisolated(nonsending) func collect(
        _ types: [Model.Type], where isIncluded: @escaping (ReplayJob) -> Bool
    ) async throws -> [QueuedSave] {
        let queue = try requiredQueue()
        try await collecting.acquire()
        defer { collecting.release() }
        var saves: [QueuedSave] = []
        for type in types {
            let identity = try await identity(for: type)
            _ = overlay.name(of: type)
            try refreshCalls(isWhole: true)
            let collector = SaveCollector(context: self, type: type, queue: queue) {
                $0.identity.isExactly(identity) && isIncluded($0)
            }
            saves += try await collector.collect()
        }
        // Calls that waited for an id may be sent now.
        try? refreshCalls(isWhole: false)
        follow()
        return saves
    }

    // MARK: Following the queue

    /// Prepares the context for a save: reads the identity of a class and the queue.
    nonisolated(nonsending) func prepareSave(of type: Model.Type) async {
        guard let engine else { return }
        if !identities.isKnown(of: type, with: engine) { _ = try? await identity(for: type) }
        // A queue that cannot be read prevents nothing. The engine reports it.
        try? refreshCalls(isWhole: true)
        follow()
    }

    /// Prepares the context for the values of a load: reads the queue, and applies the answers to ended calls, which
    /// the values may already contain.
    nonisolated(nonsending) func prepareLoad() async {
        if engine == nil { return }
        try? refreshCalls(isWhole: true)
        follow()
        await collectEnded()
    }

    /// Starts the task that reads the queue again whenever this process has changed it, and applies answers if the
    /// engine replays automatically. It ends with the context.
    ///
    /// - Parameter isolation: The caller's isolation domain, which is that of the context. Without one, no task is
    ///   started.
    func follow(isolation: isolated (any Actor)? = #isolation) {
        guard isolation != nil, overlay.following == nil, let watch = overlay.watch else { return }
        overlay.following = Task { [weak self] in
            // The capture isolates the task.
            _ = isolation
            while !Task.isCancelled {
                await watch.wait()
                guard !Task.isCancelled, let self else { return }
                try? self.refreshCalls(isWhole: false)
                if self.engine?.replaysAutomatically == true { await self.collectEnded() }
            }
        }
    }

    /// Applies the answers to ended calls, except those that a `save` or `destroy` waits for.
    nonisolated(nonsending) func collectEnded() async {
        let ended = overlay.calls.all.filter { $0.job.hasEnded || $0.job.state == .needsReview }
        let names = overlay.createdElsewhere.union(ended.map(\.subject.type))
        overlay.createdElsewhere = []
        for type in names.compactMap({ overlay.classes[$0] }) {
            await collectForLater([type]) { [weak self] job in
                let model = QueuedSubject(job).flatMap { self?.existing(type, for: $0) }
                return model?.tracking.syncing?.awaited ?? 0 == 0
            }
        }
    }

    private func requiredQueue() throws -> ReplayQueue {
        guard let engine = queueEngine else {
            throw ModelError(.noEngine, "the context has no engine: create it with the engine that has the queue")
        }
        return try engine.queue()
    }

    private nonisolated(nonsending) func identity(for type: Model.Type) async throws -> String? {
        guard let engine = queueEngine else { return nil }
        return try await identities.identity(of: type.resource ?? Request(""), for: type, with: engine)
    }

    /// Returns the live instance that a queued call belongs to.
    func existing(_ type: Model.Type, for subject: QueuedSubject) -> Model? {
        subject.ids.lazy.compactMap { self.existing(type, id: $0) }.first { live in
            live.listName.isEmpty || live.listName.isExactly(subject.list)
                || (subject.localID != nil && subject.localID == live.tracking.localID)
        }
    }

    // MARK: Queued deletions

    /// Records that the deletion of an object is queued. No load adds the object again.
    func addPendingDeletion(_ deleted: DeletedModel, at key: String) {
        order.deleted.insert(ModelKey(type(of: deleted.model), deleted.model.modelID))
        // At a second deletion the object is in no collection any more.
        let key = ExactText(key)
        if pendingDeletions[key] == nil { pendingDeletions[key] = deleted }
    }

    /// Restores an object that the server has not deleted.
    func revertDeletion(_ key: String) {
        guard let deleted = pendingDeletions[ExactText(key)] else { return }
        endDeletion(key, isDestroyed: false)
        for position in deleted.positions.reversed() { position.restoreUnrecorded(deleted.model) }
    }

    /// Removes an object that the server has deleted.
    func endDeletion(of model: Model, at key: String) {
        model.tracking.isDestroyed = true
        model.leaveUnrecorded()
        endDeletion(key, isDestroyed: true)
    }

    func endDeletion(_ key: String, isDestroyed: Bool) {
        guard let deleted = pendingDeletions.removeValue(forKey: ExactText(key)) else { return }
        let model = ModelKey(type(of: deleted.model), deleted.model.modelID)
        order.deleted.remove(model)
        guard isDestroyed else { return }
        order.noteDestroyed(model)
        for position in deleted.positions { position.core.confirmMembership(of: [deleted.model]) }
    }
}

extension ReplayJob {
    /// Whether the job is done or dead: it is not sent again by itself, and needs no review.
    var hasEnded: Bool { state == .done || state == .dead }
}
