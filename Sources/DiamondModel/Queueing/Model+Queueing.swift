import Diamond
import HTTPTypes

extension Model {
    /// Whether calls of the object wait in the queue, or their answers wait to be collected.
    public final var hasQueuedSaves: Bool { !(tracking.syncing?.queuedJobs.isEmpty ?? true) }

    /// Keeps a save in the queue, and sends it where it can be sent now.
    final nonisolated(nonsending) func queueSave(as method: SaveMethod) async throws {
        guard isNew || isDirty || method != .automatic else { return }
        try validate()
        let queue = try ModelQueue(self)
        var call = method.call(isNew: isNew)
        // The call that makes the object is in the queue already: this one changes it.
        if call == .create, isNew, try queue.isBeingMade(self) { call = .update }
        let body = body(of: call)
        if syncing.queuedBody == body, hasQueuedSaves { return }
        try await queue.keep(call, body, of: self)
        syncing.queuedBody = body
    }

    /// Keeps a deletion in the queue, and sends it where it can be sent now.
    final nonisolated(nonsending) func queueDestroy() async throws {
        syncing.server = server
        if isNew, tracking.context == nil { return leaveCollections() }
        let queue = try ModelQueue(self)
        if isNew, try !queue.isBeingMade(self) { return leaveCollections() }
        let leaving = DeletedModel(model: self, places: CollectionPlace.leave(self))
        queue.context.noteLeaving(leaving, queue.key)
        do {
            try await queue.keep(.destroy, nil, of: self)
        } catch {
            queue.context.takeBackLeaving(queue.key)
            throw error
        }
        // It was merged with the call that would have made the object, which is not sent either.
        if !hasQueuedSaves { queue.context.endLeaving(queue.key, isDestroyed: false) }
    }

    /// Gives properties values that a user has set, as they stand in what was sent.
    final func takeEdits(from object: [String: JSONValue]) throws {
        let sent = try type(of: self).decoded(from: .object(object))
        let slots = PropertyVisitor.slots(of: sent).filter { slot in
            let isSent = slot.property.access == .user && slot.property.keyFound(in: object) != nil
            return isSent && !isDirty(slot.property) && slot.property.nestedCollection(in: slot.value) == nil
        }
        transact(source: .user) { put(back: slots) }
    }

    /// Makes an object that was read from what waits in the queue one that the server does not have.
    final func becomeNew(_ subject: QueuedSubject) {
        (tracking.source, tracking.repairs, tracking.localID) = (nil, [], subject.localID)
        if subject.serverID == nil { tracking.serverID = nil }
    }
}

/// The queue of an object's calls.
struct ModelQueue {
    let context: ModelContext
    let engine: Engine
    let queue: ReplayQueue
    /// The ordering key and the unique name of the calls: one follows the other, and what was not sent takes in the next.
    let key: String

    /// - Throws: ``ModelError`` `noEngine` for an object of no context, or of one without an engine. `ReplayError`.
    init(_ model: Model) throws {
        guard let context = model.context else {
            throw ModelError(
                .noEngine, "\(type(of: model)) is in no ModelContext: register it in one, which takes in the answer")
        }
        self.context = context
        engine = try model.requiredEngine()
        queue = try engine.queue()
        key = try Self.key(of: model, queue)
        model.syncing.queueKey = key
    }

    private static func key(of model: Model, _ queue: ReplayQueue) throws -> String {
        if let key = model.syncing.queueKey { return key }
        let name = type(of: model).queueName
        guard let id = model.serverID else { return "\(name)/\(model.localID)" }
        // Calls from before the server gave the id may still wait, and go first.
        let earlier = try queue.jobsKeepingAnswers().first { job in
            QueuedSubject(job).map { $0.type == name && $0.serverID == id } ?? false
        }
        return earlier?.orderingKey ?? "\(name)/\(id)"
    }

    /// Whether the call that makes the object is in the queue, or its answer is.
    func isBeingMade(_ model: Model) throws -> Bool {
        try jobs().contains { QueuedSubject($0)?.call == .create }
    }

    private func jobs() throws(ReplayError) -> [ReplayJob] {
        try queue.jobsKeepingAnswers().filter { $0.orderingKey == key }
    }

    /// Writes a call into the queue, and sends it where nothing stands before it.
    ///
    /// - Throws: `ConnectionError` of a call that the server has refused, and that is not sent again; `cannotQueue`.
    nonisolated(nonsending) func keep(_ call: ModelCall, _ body: JSONValue?, of model: Model) async throws {
        let subject = QueuedSubject(model, call)
        var request = try model.request(queueing: call, body: body)
        request.replay = ReplayPolicy(
            .durable, orderingKey: key, unique: key, uniqueness: .merge, metadata: subject.metadata)
        request.replay.keepsAnswer = true
        var failure: ConnectionError?
        if call != .create, subject.serverID == nil {
            _ = try await queue.enqueueAwaitingID(request)
        } else {
            failure = await send(request)
        }
        model.syncing.queuedJobs = Set(try jobs().map(\.id))
        _ = try await context.collect([type(of: model)]) { $0.orderingKey == key }
        guard let failure, failure.code != .queued, !failure.saysGone || call != .destroy else { return }
        throw failure
    }

    private nonisolated(nonsending) func send(_ request: Request) async -> ConnectionError? {
        // In a task of its own: what is kept is not taken back where the caller goes away.
        await Task { [engine] () -> ConnectionError? in
            do throws(ConnectionError) { _ = try await engine.successfulResponse(to: request) } catch { return error }
            return nil
        }.value
    }
}

extension ConnectionError {
    /// Whether the server does not know the object (any more).
    var saysGone: Bool { code == .badStatus && [404, 410].contains(response?.status.code) }
}

extension Model {
    /// Returns the request of a call for the queue. Of an object that has no id of the server's yet, the URL has the local id
    /// in its place.
    fileprivate final func request(queueing call: ModelCall, body: JSONValue?) throws -> Request {
        guard call != .create, isNew else { return try request(for: call, body: body) }
        syncing.urlID = localID
        defer { syncing.urlID = nil }
        let request = try request(for: call, body: body)
        guard request.url.contains(localID.description.urlSegment) else {
            throw ModelError(
                .missingID,
                "request(for:body:) of \(type(of: self)) makes no URL with the object's `modelID`: save it once the server has given an id"
            )
        }
        return request
    }
}
