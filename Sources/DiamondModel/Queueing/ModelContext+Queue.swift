import Diamond

extension ModelContext {
    /// Returns the objects of a class whose calls wait in the queue: new ones are made of what waits, and get back the local
    /// ids that they had; live ones get back the changes that wait; deleted ones leave their collections.
    ///
    /// Call it when the program starts, before anything is saved. The context keeps none of the objects alive.
    ///
    /// - Throws: `ReplayError` where the queue cannot be read; ``ModelError`` `noEngine`.
    public func queuedModels<Object: Model>(_ type: Object.Type = Object.self) throws -> [Object] {
        let queue = try requiredQueue()
        var models: [Object] = []
        for job in try queue.jobsKeepingAnswers() {
            guard let subject = QueuedSubject(job), subject.type == type.queueName,
                let request = try queue.request(of: job.id),
                let model: Object = try restore(subject, request)
            else { continue }
            model.syncing.queueKey = job.orderingKey
            model.syncing.queuedJobs.insert(job.id)
            if subject.call == .destroy {
                noteLeaving(DeletedModel(model: model, places: CollectionPlace.leave(model)), job.orderingKey ?? "")
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
    /// - Parameter types: the classes whose answers are taken in.
    /// - Returns: what was answered, in the order in which it was queued.
    /// - Throws: `ReplayError` where the queue cannot be read or written, and what ``recordSaves`` throws; the answers stay in
    ///   the queue then. ``ModelError`` `noEngine`.
    @discardableResult
    public nonisolated(nonsending) func collectSaves(of types: Model.Type...) async throws -> [QueuedSave] {
        try await collect(types) { _ in true }
    }

    nonisolated(nonsending) func collect(
        _ types: [Model.Type], where isMeant: (ReplayJob) -> Bool
    ) async throws -> [QueuedSave] {
        let queue = try requiredQueue()
        try await collecting.take()
        defer { collecting.give() }
        var saves: [QueuedSave] = []
        for job in try queue.jobsKeepingAnswers() where [.done, .dead].contains(job.state) && isMeant(job) {
            guard let subject = QueuedSubject(job), let type = types.first(where: { $0.queueName == subject.type }),
                let kept = try queue.keptJob(job.id)
            else { continue }
            let collector = try SaveCollector(self, type, subject, kept)
            saves.append(try await collector.collect(from: queue))
        }
        if saves.isEmpty { return [] }
        try recordSaves?(saves)
        try await queue.forgetAnswers(of: saves.map(\.jobID))
        for save in saves { save.model?.syncing.queuedJobs.remove(save.jobID) }
        return saves
    }

    private func requiredQueue() throws -> ReplayQueue {
        guard let engine else {
            throw ModelError(.noEngine, "the context has no engine: give it one, whose store has the queue")
        }
        return try engine.queue()
    }

    /// The live instance that a queued call is for.
    func existing(_ type: Model.Type, _ subject: QueuedSubject) -> Model? {
        [subject.serverID, subject.localID].lazy.compactMap { $0 }.compactMap { self.existing(type, id: $0) }.first
    }

    /// Brings an object back to the state in which its call was queued.
    ///
    /// - Returns: `nil` for one that is not live, and that the call does not make.
    func restore<Object: Model>(_ subject: QueuedSubject, _ request: Request) throws -> Object? {
        let object = try Object.object(in: request)?.modelObject()
        guard let live = existing(Object.self, subject) as? Object else {
            return subject.call == .create ? try made(subject, of: object ?? [:]) : nil
        }
        if let object, subject.call != .destroy { try live.takeEdits(from: object) }
        return live
    }

    private func made<Object: Model>(_ subject: QueuedSubject, of object: [String: JSONValue]) throws -> Object {
        let model = try Object.decoded(from: .object(object))
        model.becomeNew(subject)
        try register(model)
        return model
    }

    // MARK: Objects that leave

    /// Notes that an object is deleted here, and that the deletion waits in the queue: no load brings it back.
    func noteLeaving(_ deleted: DeletedModel, _ key: String) {
        leaving[key] = deleted
        order.deleted.insert(ModelKey(type(of: deleted.model), deleted.model.modelID))
    }

    /// Puts an object back that the server has not deleted.
    func takeBackLeaving(_ key: String) {
        guard let deleted = leaving[key] else { return }
        endLeaving(key, isDestroyed: false)
        for place in deleted.places.reversed() { place.restore(deleted.model) }
    }

    func endLeaving(_ key: String, isDestroyed: Bool) {
        guard let deleted = leaving.removeValue(forKey: key) else { return }
        let model = ModelKey(type(of: deleted.model), deleted.model.modelID)
        order.deleted.remove(model)
        if isDestroyed { order.noteDestroyed(model) }
    }
}
