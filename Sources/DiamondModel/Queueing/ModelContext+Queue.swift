import Diamond

extension ModelContext {
    /// Restores the objects of a class whose calls wait in the queue.
    ///
    /// New objects are created from their queued calls, with their previous local ids. Live objects get their queued
    /// changes again. Deleted objects leave their collections. Changes of objects that are not live stay in the queue,
    /// and are not returned.
    ///
    /// Call it when the program starts, after ``collectSaves(of:)`` and before the first save. The context does not
    /// retain the objects.
    ///
    /// - Returns: The new objects and the live ones, in the order of their calls, without deleted ones.
    /// - Throws: `ReplayError` if the queue cannot be read; ``ModelError`` `noEngine`; `otherIdentity` if the context's
    ///   objects belong to another identity than the current one. `ConnectionError` if that cannot be determined.
    public nonisolated(nonsending) func queuedModels<Object: Model>(
        _ type: Object.Type = Object.self
    ) async throws -> [Object] {
        let queue = try requiredQueue()
        let identity = try await identity(for: type)
        var models: [Object] = []
        // Unsaved changes of live objects are newer than their queued calls.
        var newer: [Model: [AnyProperty]] = [:]
        for (job, isConsumed) in try queue.jobsStoringAnswers() where !isConsumed && !job.hasEnded {
            guard let subject = QueuedSubject(job), subject.type == type.queueName, job.identity.isExactly(identity)
            else { continue }
            addQueuedCall(job.id, of: subject, as: type)
            let live = existing(type, for: subject)
            // A damaged request, and a change of an object that is not live, stay queued without a model.
            guard let request = try? queue.request(of: job.id),
                let model: Object = try restore(subject, from: request, except: &newer)
            else {
                if subject.call == .destroy { order.deleted.formUnion(subject.ids.map { ModelKey(type, $0) }) }
                continue
            }
            if live == nil { newer[model] = [] }
            if subject.call == .destroy {
                addPendingDeletion(
                    DeletedModel(model: model, positions: CollectionPosition.remove(model, isEdit: false)),
                    at: job.orderingKey ?? "")
                models.removeAll { $0 === model }
            } else if !models.contains(where: { $0 === model }) {
                models.append(model)
            }
        }
        return models
    }

    /// Applies the answers to queued saves and deletions: new objects get the server's id, changes count as saved, and
    /// calls that wait for an id are sent.
    ///
    /// Call it when the program starts, and whenever a replayer may have sent calls. The queue stores each answer until
    /// ``recordSaves`` has returned for it. If the program ends before that, it gets the answer again. Applying an
    /// answer twice changes nothing.
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
    /// fails here.
    ///
    /// - Parameter isOwn: Whether the last answer belongs to the caller's call, which reports it itself.
    nonisolated(nonsending) func collectForLater(
        _ types: [Model.Type], isOwn: Bool = false, where isIncluded: @escaping (ReplayJob) -> Bool
    ) async {
        guard let saves = try? await collect(types, where: isIncluded) else { return }
        unreported += isOwn ? saves.dropLast() : saves[...]
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
            let collector = SaveCollector(context: self, type: type, queue: queue) {
                $0.identity.isExactly(identity) && isIncluded($0)
            }
            saves += try await collector.collect()
        }
        return saves
    }

    private func requiredQueue() throws -> ReplayQueue {
        guard let engine else {
            throw ModelError(.noEngine, "the context has no engine: create it with the engine that has the queue")
        }
        return try engine.queue()
    }

    private nonisolated(nonsending) func identity(for type: Model.Type) async throws -> String? {
        guard let engine else { return nil }
        return try await identities.identity(of: type.resource ?? Request(""), for: type, with: engine)
    }

    /// Returns the live instance that a queued call belongs to.
    func existing(_ type: Model.Type, for subject: QueuedSubject) -> Model? {
        subject.ids.lazy.compactMap { self.existing(type, id: $0) }.first { live in
            live.listName.isEmpty || live.listName.isExactly(subject.list)
                || (subject.localID != nil && subject.localID == live.tracking.localID)
        }
    }

    /// Restores the state in which the call of an object was queued.
    ///
    /// - Parameter newer: The properties that were set since, by object. They keep their values.
    /// - Returns: The object; `nil` if it is not live, and the call does not create it.
    func restore<Object: Model>(
        _ subject: QueuedSubject, from request: Request, except newer: inout [Model: [AnyProperty]]
    ) throws -> Object? {
        let object = try Object.object(in: request)?.modelObject()
        guard let live = existing(Object.self, for: subject) as? Object else {
            return subject.call == .create ? try newModel(for: subject, from: object ?? [:]) : nil
        }
        if let object, subject.call != .destroy { try live.applyEdits(from: object, except: &newer) }
        return live
    }

    private func newModel<Object: Model>(
        for subject: QueuedSubject, from object: [String: JSONValue]
    ) throws -> Object {
        let model = try Object.decoded(from: .object(object))
        model.becomeNew(subject)
        try register(model)
        return model
    }

    // MARK: Queued calls

    func hasQueuedCalls(_ key: ModelKey) -> Bool { queuedCalls[key]?.isEmpty == false }

    func setQueuedCalls(_ jobs: [ReplayJob.ID], of model: Model) {
        changeQueuedCalls(at: model.tracking.ids.map { ModelKey(type(of: model), $0) }) { $0 = Set(jobs) }
    }

    func addQueuedCall(_ job: ReplayJob.ID, of subject: QueuedSubject, as type: Model.Type) {
        changeQueuedCalls(at: subject.ids.map { ModelKey(type, $0) }) { $0.insert(job) }
    }

    func removeQueuedCalls(_ jobs: Set<ReplayJob.ID>) {
        changeQueuedCalls(at: queuedCalls.filter { !$1.isDisjoint(with: jobs) }.map(\.key)) { $0.subtract(jobs) }
    }

    /// Changes the queued calls of objects, and notifies the observers of their ``Model/hasQueuedSaves``.
    private func changeQueuedCalls(at keys: [ModelKey], _ change: (inout Set<ReplayJob.ID>) -> Void) {
        let old = keys.compactMap { live(at: $0) }.map { (model: $0, hasQueuedSaves: $0.hasQueuedSaves) }
        for key in keys {
            var jobs = queuedCalls[key] ?? []
            change(&jobs)
            queuedCalls[key] = jobs.isEmpty ? nil : jobs
        }
        var notified: Set<ObjectIdentifier> = []
        for (model, hadQueuedSaves) in old where model.hasQueuedSaves != hadQueuedSaves {
            if notified.insert(ObjectIdentifier(model)).inserted { model.queuedSavesDidChange() }
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
