import Diamond
import DiamondSQLite

/// The queue of an object's calls, for one identity.
struct ModelQueue {
    let context: ModelContext
    private let engine: Engine
    private let queue: ReplayQueue
    /// The ordering key and the unique name of the calls. They are sent one after another, and a call that was not sent
    /// yet is merged with the next.
    let key: String
    /// The identity for which the calls are sent, the same for which they were checked; `nil` for none.
    private let identity: String?

    /// Collects the stored answers to the calls of an object, and returns its queue.
    ///
    /// - Throws: ``ModelError`` `noEngine` for an object without a context, or whose context has no engine;
    ///   `otherIdentity`. `ReplayError`.
    static nonisolated(nonsending) func ready(for model: Model) async throws -> ModelQueue {
        let first = try await queue(of: model)
        if try first.hasAnswers(for: model) {
            await first.context.collectForLater([type(of: model)]) { $0.orderingKey.isExactly(first.key) }
        }
        // Other contexts may have collected the answers with the ids to which the object refers.
        _ = try first.ids(of: model.json.localIDs.union(model.server?.list.localIDs ?? []))
        // The answers may have assigned the server's id, which changes the key.
        let queue = try await queue(of: model)
        try queue.context.refreshCalls(isWhole: false)
        queue.context.follow()
        return queue
    }

    /// Returns the queue of an object.
    ///
    /// - Throws: As ``ready(for:)``, and `ConnectionError` if the current identity cannot be determined.
    // Not an initializer: the compiler of Swift 6.3 crashes on it in release builds.
    static nonisolated(nonsending) func queue(of model: Model) async throws -> ModelQueue {
        try model.checkContext()
        guard let context = model.context else {
            throw ModelError(
                .noEngine, "\(type(of: model)) has no ModelContext, which the answer needs: register it in one")
        }
        let engine = try model.requiredEngine()
        let queue = try engine.queue()
        if context.engine == nil { context.overlay.use(engine) }
        let identity = try await context.identities.identity(
            of: model.server?.list ?? Request(""), for: type(of: model), with: engine)
        try context.refreshCalls(isWhole: true)
        let key = Self.key(of: model, identity: identity, in: context)
        return ModelQueue(context: context, engine: engine, queue: queue, key: key, identity: identity)
    }

    private static func key(of model: Model, identity: String?, in context: ModelContext) -> String {
        // Calls from before the server assigned the id, of the object or of one in its URL, may still wait.
        let name = context.overlay.name(of: type(of: model))
        let earlier = context.overlay.calls.calls(of: name, ids: model.tracking.ids).first {
            $0.job.identity.isExactly(identity) && $0.subject.isSame(as: model)
        }
        let list = "\(identity.map { "\($0) " } ?? "")\(name) \(model.listName)"
        return earlier?.job.orderingKey ?? "\(list)/\(model.modelID)"
    }

    /// The object's calls that were not answered, or whose answers were not collected, as last read.
    var uncollectedCalls: [WaitingCalls.Call] { context.overlay.calls.calls(at: key) }

    /// Returns the jobs of these calls from the queue.
    func jobs() throws(ReplayError) -> [ReplayJob] {
        try queue.jobsStoringAnswers().compactMap { job, isConsumed in
            !isConsumed && job.orderingKey.isExactly(key) && QueuedSubject(job) != nil ? job : nil
        }
    }

    /// Returns the ids that the queue knows (`ReplayQueue.ids(of:)`), and notes them in the context.
    private func ids(of names: Set<String>) throws(ReplayError) -> [String: JSONValue] {
        let known = try queue.ids(of: names)
        for (name, id) in known {
            if let local = ModelID(local: name), let id = ModelID(json: id) { context.note(id, of: local) }
        }
        return known
    }

    /// Returns whether the queue has something to collect for an object.
    private func hasAnswers(for model: Model) throws(ReplayError) -> Bool {
        if uncollectedCalls.contains(where: \.isCollectable) { return true }
        // Another context may have collected the answer to the call that has created the object.
        let name = model.localID.description
        return model.isNew ? try !queue.ids(of: [name]).values.allSatisfy { $0 == .null } : false
    }

    /// Returns the members of an object that the server will still lack after earlier calls.
    func changes(of model: Model, after waiting: [WaitingCalls.Call]) throws -> [String: JSONValue] {
        let bodies = try waiting.compactMap { call in
            try queue.request(of: call.job.id).flatMap { try type(of: model).object(in: $0)?.modelObject() }
        }
        var changes: [String: JSONValue] = [:]
        for slot in PropertyVisitor.slots(of: model) where slot.property.access == .user {
            let key = slot.property.writeKey(in: model.tracking.source)
            if type(of: model).patchesNestedModels, let child = slot.nestedModel {
                // Another model may replace the one that the server has.
                let base =
                    model.isDirty(slot.property)
                    ? model.tracking.source.flatMap(key.value) ?? .null : .object(child.tracking.source ?? [:])
                let known = bodies.compactMap { key.value(in: $0) }.reduce(base) { $0.merging($1) }
                let patch = known.mergePatch(to: model.visiting { child.json })
                if patch != .object([:]) { key.put(patch, into: &changes) }
                continue
            }
            let found = bodies.reversed().lazy.compactMap { key.value(in: $0) }.first
            let value = model.visiting { slot.property.encode(slot.value) }
            guard found == nil ? model.isChanged(slot) || model.isNew : found != value else { continue }
            key.put(value, into: &changes)
        }
        return changes
    }

    /// Writes a call to the queue. Starts to send it if no other call has to be sent before it.
    ///
    /// - Throws: ``ModelError`` `missingID` if the request refers to an object that no call creates; `ConnectionError` if
    ///   it could not be written.
    nonisolated(nonsending) func enqueue(
        _ call: ModelCall, body: JSONValue?, of model: Model
    ) async throws -> QueuedCall {
        let subject = QueuedSubject(model, call: call)
        var request = try model.request(queueing: call, body: body)
        // Another user may have signed in since the check.
        request.identity = request.identity ?? identity
        request.replay.mode = .durable
        request.replay.orderingKey = key
        request.replay.order = .ordered
        request.replay.unique = key
        request.replay.uniqueness = .merge
        if let body, let place = request.body?.jsonValue?.path(of: body) {
            request.replay.wholeMembers = model.wholePaths(in: body).map { place + $0 }
        }
        request.replay.metadata.merge(subject.metadata) { $1 }
        // Metadata of the app must not be read as ids.
        for name in ["id", "localID"] where subject.metadata[name] == nil { request.replay.metadata[name] = nil }
        request.replay.storesAnswer = true
        let known = try ids(of: request.replay.awaits)
        if let name = request.replay.awaits.subtracting(known.keys).min() { throw ModelError.unsaved(name) }
        request = request.replacing(known.filter { $0.value != .null })
        model.noteFailure(nil)
        model.syncing.isEnqueueing = true
        defer { model.syncing.isEnqueueing = false }
        let sending = try await send(request)
        try context.refreshCalls(isWhole: false)
        return QueuedCall(context: context, type: type(of: model), key: key, call: call, sending: sending)
    }

    /// Starts to send a request, and returns when it is on disk.
    ///
    /// - Throws: `ConnectionError` `cannotQueue` if it could not be written.
    private nonisolated(nonsending) func send(_ request: Request) async throws -> Task<ConnectionError?, Never> {
        let stored = Promise<ConnectionError?>()
        // A separate task: canceling the caller does not cancel a request that is on disk.
        let task = Task { [engine] () -> ConnectionError? in
            do throws(ConnectionError) {
                _ = try await engine.durableResponse(to: request) { stored.fulfill(with: nil) }
                stored.fulfill(with: nil)
                return nil
            } catch {
                stored.fulfill(with: error)
                return error
            }
        }
        if let error = await stored.value() { throw error }
        return task
    }
}

extension Model {
    /// Returns the paths of the members of a body whose objects are meant whole: all, except nested models of which the
    /// class sends only the changes.
    fileprivate func wholePaths(in body: JSONValue) -> [[String]] {
        guard case .object(let members) = body else { return [] }
        return PropertyVisitor.slots(of: self).compactMap { slot in
            let key = slot.property.writeKey(in: tracking.source)
            guard slot.property.access == .user, case .object? = key.value(in: members) else { return nil }
            return Self.patchesNestedModels && slot.nestedModel != nil ? nil : key.names
        }
    }
}

extension JSONValue {
    /// Returns the path of a value within this one, which may wrap it; `nil` if it is not there.
    fileprivate func path(of value: JSONValue) -> [String]? {
        if self == value { return [] }
        guard case .object(let members) = self else { return nil }
        return members.lazy.compactMap { name, member in member.path(of: value).map { [name] + $0 } }.first
    }
}

/// A call in the queue, which may be on the wire already.
struct QueuedCall {
    fileprivate let context: ModelContext
    fileprivate let type: Model.Type
    fileprivate let key: String
    fileprivate let call: ModelCall
    /// The task that sends the call, or ends if it has to wait.
    fileprivate let sending: Task<ConnectionError?, Never>

    /// Waits until the server has responded or the call has to wait, and collects the response.
    ///
    /// - Throws: `ConnectionError` if the server has refused the call, which is not sent again. A deletion of an object
    ///   that is gone (404, 410) is no refusal.
    nonisolated(nonsending) func finish() async throws {
        let failure = await sending.value
        let isAnswered = failure?.code != .queued
        try? context.refreshCalls(isWhole: false)
        if isAnswered || context.overlay.calls.calls(at: key).contains(where: \.isCollectable) {
            await context.collectForLater([type], isOwn: isAnswered) { $0.orderingKey.isExactly(key) }
        }
        guard let failure, failure.code != .queued, !failure.saysGone || call != .destroy else { return }
        throw failure
    }
}
