import Diamond

extension ModelContext {
    /// Returns the objects of a class whose calls wait in the queue: new ones are made of what waits, and have the local ids
    /// that they had; live ones get back the changes that wait; deleted ones leave their collections. Changes of objects that
    /// are not live wait on, and are not shown.
    ///
    /// Call it when the program starts, behind ``collectSaves(of:)`` and before anything is saved. The context keeps none of
    /// the objects alive.
    ///
    /// - Throws: `ReplayError` where the queue cannot be read; ``ModelError`` `noEngine`; `ConnectionError` where the
    ///   identity that is signed in cannot be determined.
    public nonisolated(nonsending) func queuedModels<Object: Model>(
        _ type: Object.Type = Object.self
    ) async throws -> [Object] {
        let queue = try requiredQueue()
        let identity = try await identity(for: type)
        var models: [Object] = []
        // What the program has set by now is newer than what waits.
        var newer: [ObjectIdentifier: [AnyProperty]] = [:]
        for (job, isConsumed) in try queue.jobsStoringAnswers() where !isConsumed && !job.hasEnded {
            guard let subject = QueuedSubject(job), subject.type == type.queueName, job.identity == identity else {
                continue
            }
            note(job.id, of: subject, as: type)
            let live = existing(type, for: subject)
            if let live, newer[ObjectIdentifier(live)] == nil { newer[ObjectIdentifier(live)] = live.dirtyProperties }
            // What is damaged is for a person to look at.
            guard let request = try? queue.request(of: job.id),
                let model: Object = try restore(
                    subject, from: request, except: live.flatMap { newer[ObjectIdentifier($0)] } ?? [])
            else {
                if subject.call == .destroy { order.deleted.formUnion(subject.ids.map { ModelKey(type, $0) }) }
                continue
            }
            if live == nil { newer[ObjectIdentifier(model)] = [] }
            if subject.call == .destroy {
                addPendingDeletion(
                    DeletedModel(model: model, places: CollectionPlace.leave(model)), at: job.orderingKey ?? "")
                models.removeAll { $0 === model }
            } else if !models.contains(where: { $0 === model }) {
                models.append(model)
            }
        }
        return models
    }

    /// Takes in the answers to queued saves and deletions: new objects get the server's id, changes count as saved, and
    /// what waits for an id is sent.
    ///
    /// Call it when the program starts, and whenever a replayer may have sent something. The queue keeps each answer until
    /// ``recordSaves`` has returned for it: a program that ends before gets the answer again, and taking it in twice
    /// changes nothing.
    ///
    /// - Parameter types: the classes whose answers are taken in, of the identity that is signed in.
    /// - Returns: what was answered since the last time, but for what a save has thrown or returned for, in the order in
    ///   which it was queued.
    /// - Throws: `ReplayError` where the queue cannot be read or written, and what ``recordSaves`` throws; the answers
    ///   stay in the queue then. ``ModelError`` `noEngine`; `ConnectionError` where the identity that is signed in
    ///   cannot be determined.
    @discardableResult
    public nonisolated(nonsending) func collectSaves(of types: Model.Type...) async throws -> [QueuedSave] {
        let saves = try await collect(types) { _ in true }
        defer { reported = [] }
        return reported + saves
    }

    /// Collects answers without being asked to. They are reported with the next that are asked for. What fails is tried again
    /// then.
    ///
    /// - Parameter isOwn: whether the last answer is that of the caller's call, which reports it.
    nonisolated(nonsending) func collectEarlier(
        _ types: [Model.Type], isOwn: Bool = false, where isIncluded: @escaping (ReplayJob) -> Bool
    ) async {
        guard let saves = try? await collect(types, where: isIncluded) else { return }
        reported += isOwn ? saves.dropLast() : saves[...]
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
                $0.identity == identity && isIncluded($0)
            }
            saves += try await collector.collect()
        }
        return saves
    }

    private func requiredQueue() throws -> ReplayQueue {
        guard let engine else {
            throw ModelError(.noEngine, "the context has no engine: give it one, whose store has the queue")
        }
        return try engine.queue()
    }

    private nonisolated(nonsending) func identity(for type: Model.Type) async throws -> String? {
        try await engine?.identity(of: type.resource ?? Request(""))
    }

    /// The live instance that a queued call is for.
    func existing(_ type: Model.Type, for subject: QueuedSubject) -> Model? {
        subject.ids.lazy.compactMap { self.existing(type, id: $0) }.first { live in
            live.listName.isEmpty || live.listName == subject.list
        }
    }

    /// Brings an object back to the state in which its call was queued.
    ///
    /// - Parameter newer: the properties that were set since.
    /// - Returns: `nil` for one that is not live, and that the call does not make.
    func restore<Object: Model>(
        _ subject: QueuedSubject, from request: Request, except newer: [AnyProperty]
    ) throws -> Object? {
        let object = try Object.object(in: request)?.modelObject()
        guard let live = existing(Object.self, for: subject) as? Object else {
            return subject.call == .create ? try made(subject, of: object ?? [:]) : nil
        }
        if let object, subject.call != .destroy { try live.applyEdits(from: object, except: newer) }
        return live
    }

    private func made<Object: Model>(_ subject: QueuedSubject, of object: [String: JSONValue]) throws -> Object {
        let model = try Object.decoded(from: .object(object))
        model.becomeNew(subject)
        try register(model)
        return model
    }

    // MARK: Calls that wait

    func hasQueuedCalls(_ key: ModelKey) -> Bool { queuedCalls[key]?.isEmpty == false }

    /// Notes which calls of an object wait.
    func note(_ jobs: [ReplayJob.ID], of model: Model) {
        for id in model.tracking.ids { queuedCalls[ModelKey(type(of: model), id)] = Set(jobs) }
    }

    func note(_ job: ReplayJob.ID, of subject: QueuedSubject, as type: Model.Type) {
        for id in subject.ids { queuedCalls[ModelKey(type, id), default: []].insert(job) }
    }

    func noteEnd(of jobs: Set<ReplayJob.ID>) {
        for (key, own) in queuedCalls {
            let rest = own.subtracting(jobs)
            queuedCalls[key] = rest.isEmpty ? nil : rest
        }
    }

    // MARK: Objects that leave

    /// Records that the deletion of an object is queued. No load adds the object again.
    func addPendingDeletion(_ deleted: DeletedModel, at key: String) {
        order.deleted.insert(ModelKey(type(of: deleted.model), deleted.model.modelID))
        // A second deletion finds the object in no place.
        if pendingDeletions[key] == nil { pendingDeletions[key] = deleted }
    }

    /// Restores an object that the server has not deleted.
    func revertDeletion(_ key: String) {
        guard let deleted = pendingDeletions[key] else { return }
        endDeletion(key, isDestroyed: false)
        for place in deleted.places.reversed() { place.restore(deleted.model) }
    }

    func endDeletion(_ key: String, isDestroyed: Bool) {
        guard let deleted = pendingDeletions.removeValue(forKey: key) else { return }
        let model = ModelKey(type(of: deleted.model), deleted.model.modelID)
        order.deleted.remove(model)
        if isDestroyed { order.noteDestroyed(model) }
    }
}

extension ReplayJob {
    /// Whether the job is done or dead: it is not sent again by itself, and needs no review.
    var hasEnded: Bool { state == .done || state == .dead }
}
