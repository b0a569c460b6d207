import Diamond
import Observation

/// The state of a context that shows what waits in the queue.
struct QueueOverlay {
    /// A call that was not accepted, and whose object was not live then.
    struct RefusedCall {
        let jobID: ReplayJob.ID
        let subject: QueuedSubject
        let identity: String?
        let object: [String: JSONValue]
        let failure: SaveFailure
    }

    var calls = WaitingCalls()
    /// The refused calls whose objects have not become live since.
    var refused: [RefusedCall] = []
    /// The classes of live new objects that were created by calls whose answers another context has applied.
    var createdElsewhere: Set<String> = []
    /// The engine of the last queued call, for a context without an engine.
    var engine: Engine?
    /// The queue that is observed, if its file exists.
    var queue: ReplayQueue?
    var watch: TransitionWatch?
    /// Whether the next read has to read all calls, because an earlier one has failed, or there was none.
    var mustReadAll = true
    /// The version by others (`TransitionWatch`) before the last read of all calls; `nil` if it was not known.
    var version: Int64?
    /// Whether the queue was looked for.
    var isSought = false
    /// The number of changes of the context's identities (``ContextIdentities``) that were taken into account.
    var identityChanges = 0
    /// The task that waits for changes of the queue.
    var following: Task<Void, Never>?
    /// The list that is being read. Objects of classes without a URL belong to it.
    var list: String?
    /// The names of the classes in the queue.
    private var names: [ObjectIdentifier: String] = [:]
    /// The known classes by their names.
    private(set) var classes: [String: Model.Type] = [:]

    /// Reads the queue of an engine from now on. For a context without an engine.
    mutating func use(_ engine: Engine) {
        if self.engine === engine { return }
        following?.cancel()
        self.engine = engine
        queue = nil
        watch = nil
        following = nil
        mustReadAll = true
    }

    /// Returns the name of a class in the queue.
    mutating func name(of type: Model.Type) -> String {
        if let name = names[ObjectIdentifier(type)] { return name }
        let name = type.queueName
        names[ObjectIdentifier(type)] = name
        if classes[name] == nil { classes[name] = type.identityClass }
        return name
    }
}

// MARK: Reading the queue

extension ModelContext {
    /// The engine with the queue.
    var queueEngine: Engine? { engine ?? overlay.engine }

    /// Reads the calls that have changed, and shows on live objects what others have queued.
    ///
    /// - Parameter isWhole: Whether to read all calls if others may have changed them. Those of other processes are only
    ///   found then.
    func refreshCalls(isWhole: Bool) throws(ReplayError) {
        guard let engine = queueEngine else { return }
        if overlay.watch == nil {
            guard isWhole || !overlay.isSought else { return }
            overlay.isSought = true
            guard let queue = try engine.queueIfExists() else { return }
            overlay.queue = queue
            overlay.watch = TransitionWatch(queue)
        }
        let version = isWhole || overlay.mustReadAll ? overlay.watch?.versionByOthers : nil
        let isWhole = overlay.mustReadAll || (isWhole && (version == nil || version != overlay.version))
        guard let queue = overlay.queue, let changed = overlay.watch?.takeChanges() else { return }
        let isOtherUser = overlay.identityChanges != identities.changes
        guard isWhole || isOtherUser || !changed.isEmpty else { return }
        let old = overlay.calls
        var calls = old
        // The changes are not reported again.
        overlay.mustReadAll = true
        let read = try calls.read(queue, changed: changed, isWhole: isWhole)
        overlay.mustReadAll = false
        if isWhole, let version { overlay.version = version }
        overlay.calls = calls
        overlay.identityChanges = identities.changes
        let shown = isOtherUser ? Set(calls.all.map(\.job.id)) : read.others
        callsDidChange(read.changed, since: old, showing: shown, always: isOtherUser)
    }

    /// Removes calls whose answers were collected.
    func removeCalls(_ jobs: Set<ReplayJob.ID>) {
        let old = overlay.calls
        overlay.calls.remove(jobs)
        callsDidChange(jobs, since: old, showing: [], always: false)
    }

    /// Shows calls on their live objects, and notifies the observers of the objects' states.
    ///
    /// - Parameters:
    ///   - changed: The calls that may have changed.
    ///   - isAlways: Whether all objects are notified, because another identity is signed in.
    private func callsDidChange(
        _ changed: Set<ReplayJob.ID>, since old: WaitingCalls, showing shown: Set<ReplayJob.ID>, always isAlways: Bool
    ) {
        let calls = overlay.calls
        var keys = isAlways ? Set((old.all + calls.all).flatMap(\.keys)) : calls.keys(of: changed, changedSince: old)
        for job in shown { keys.formUnion(calls[job]?.keys ?? []) }
        if keys.isEmpty { return }
        registrar.withMutation(of: self, keyPath: \.waiting) {}
        if keys.contains(where: { overlay.classes[$0.type] == nil }) {
            for model in liveModels { _ = overlay.name(of: type(of: model)) }
        }
        let models = keys.compactMap { key in overlay.classes[key.type].flatMap { live(at: ModelKey($0, key.id)) } }
        for model in Set(models) {
            let current = self.calls(of: model)
            // A call that the object itself adds has its values.
            if model.tracking.syncing?.isEnqueueing != true {
                show(current.filter { shown.contains($0.job.id) }, on: model)
            }
            let earlier = self.calls(of: model, in: old)
            for call in earlier where !call.isAnswered && !calls.contains(call.job.id) { confirm(call, of: model) }
            let (before, now) = (earlier.state, current.state)
            let isToggled = isAlways || (before == nil) != (now == nil)
            if isToggled || now.map({ !$0.isSame(as: before) }) ?? false {
                model.saveStateDidChange(togglesQueuedSaves: isToggled)
            }
        }
    }

    /// Marks the values of a call as saved if the server has confirmed it, and another context has applied the answer.
    private func confirm(_ call: WaitingCalls.Call, of model: Model) {
        // A refused job is done, too, if its caller has the error.
        guard let job = try? overlay.queue?.job(call.job.id), job.state == .done,
            job.reason == .finished || job.reason == .gone
        else { return }
        switch call.subject.call {
        case .destroy: endDeletion(of: model, at: job.orderingKey ?? "")
        case .update, .replace:
            let object = call.request.flatMap { try? type(of: model).object(in: $0)?.modelObject() }
            let sent = SentObject(queued: object ?? [:], of: model, isNew: false)
            sent.acknowledge(
                answer: nil, later: model.tracking.syncing?.changes ?? [],
                newer: model.tracking.syncing?.keysMerged(after: job.changedAt) ?? [])
        // The answer stays in the queue. The next collection applies it.
        case .create: if model.isNew { overlay.createdElsewhere.insert(call.subject.type) }
        case .fetch: break
        }
    }

    /// Returns the calls of an object for the current identity, in the order in which they were added.
    func calls(of model: Model, in calls: WaitingCalls? = nil) -> [WaitingCalls.Call] {
        let calls = calls ?? overlay.calls
        if calls.isEmpty { return [] }
        let type = type(of: model)
        let found = calls.calls(of: overlay.name(of: type), ids: model.tracking.ids)
        return found.isEmpty ? [] : found.filter { isShown($0.subject, for: $0.job.identity, of: type, model) }
    }

    /// Returns whether a call belongs to the current identity.
    func isShown(_ call: WaitingCalls.Call) -> Bool {
        guard let engine = queueEngine else { return false }
        let type = overlay.classes[call.subject.type] ?? Model.self
        return identities.isCurrent(call.job.identity, of: type, with: engine)
    }

    /// Returns whether the object of a call belongs to the current identity, and to the list of a live object.
    private func isShown(
        _ subject: QueuedSubject, for identity: String?, of type: Model.Type, _ model: Model? = nil
    ) -> Bool {
        guard let engine = queueEngine else { return false }
        var list = model?.listName ?? ""
        if list.isEmpty, type.resource == nil { list = overlay.list ?? "" }
        // The URL of a list changes when the object in it gets its id.
        let isOfModel = subject.localID != nil && subject.localID == model?.tracking.localID
        return (isOfModel || list.isEmpty || subject.list.isExactly(list))
            && identities.isCurrent(identity, of: type, with: engine)
    }
}

// MARK: Showing what waits

extension ModelContext {
    /// Shows the calls of an object that has just become live.
    func showCalls(on model: Model) {
        if overlay.calls.isEmpty, overlay.refused.isEmpty { return }
        let type = type(of: model)
        let name = overlay.name(of: type)
        let ids = model.tracking.ids
        for (index, refused) in overlay.refused.enumerated().reversed()
        where refused.subject.type == name && refused.subject.ids.contains(where: ids.contains)
            && isShown(refused.subject, for: refused.identity, of: type, model)
        {
            overlay.refused.remove(at: index)
            model.restoreEdits(from: refused.object)
            model.noteFailure(refused.failure)
        }
        show(calls(of: model), on: model)
    }

    /// Sets the values that calls send, as unsaved changes, or removes an object that they delete from its collections.
    private func show(_ calls: [WaitingCalls.Call], on model: Model) {
        // Unsaved changes are newer.
        var newer: [Model: [AnyProperty]] = [:]
        for call in calls where call.subject.call != .destroy && !call.isAnswered {
            let object = call.request.flatMap { try? type(of: model).object(in: $0)?.modelObject() }
            if let object { try? model.applyEdits(from: object, except: &newer) }
        }
        guard calls.endInDeletion, let key = calls.last?.job.orderingKey, pendingDeletions[ExactText(key)] == nil else {
            return
        }
        let positions = CollectionPosition.remove(model, isEdit: false)
        if positions.isEmpty { return }
        addPendingDeletion(DeletedModel(model: model, positions: positions), at: key)
    }

    /// Returns whether the deletion of an object waits in the queue.
    func isDeletionWaiting(of type: Model.Type, _ id: ModelID) -> Bool {
        if overlay.calls.isEmpty { return false }
        let name = overlay.name(of: type)
        let calls = overlay.calls.calls(of: name, ids: [id])
        return calls.filter { isShown($0.subject, for: $0.job.identity, of: type) }.endInDeletion
    }

    /// Returns the new objects of a class whose calls wait in the queue, those of deleted objects excepted. Objects
    /// that are not live are created.
    ///
    /// - Parameter list: The URL of the list; `nil` for all lists.
    func newModels(of type: Model.Type, in list: String?) -> [Model] {
        let name = overlay.name(of: type)
        let isOfList = { (subject: QueuedSubject) in
            subject.call == .create && subject.type == name && list.map { subject.list.isExactly($0) } ?? true
        }
        var models: [Model] = []
        for call in overlay.calls.all where isOfList(call.subject) && !call.isAnswered && call.job.state != .done {
            guard isShown(call.subject, for: call.job.identity, of: type),
                !overlay.calls.calls(of: name, ids: call.subject.ids).endInDeletion
            else { continue }
            let object = call.request.flatMap { try? type.object(in: $0)?.modelObject() }
            if let model = existing(type, for: call.subject)
                ?? object.flatMap({ newModel(for: call.subject, as: type, from: $0) })
            {
                models.append(model)
            }
        }
        let refused = overlay.refused.filter { isOfList($0.subject) && isShown($0.subject, for: $0.identity, of: type) }
        // From now on, a collection or the app has them.
        overlay.refused.removeAll { call in refused.contains { $0.jobID == call.jobID } }
        for call in refused {
            guard
                let model = existing(type, for: call.subject)
                    ?? newModel(for: call.subject, as: type, from: call.object)
            else {
                continue
            }
            model.noteFailure(call.failure)
            models.append(model)
        }
        return models.filter { $0.isNew && !order.deleted.contains(ModelKey(type, $0.modelID)) }
    }

    /// Creates a new object from a queued call; `nil` if the call has no object of the class.
    func newModel(for subject: QueuedSubject, as type: Model.Type, from object: [String: JSONValue]) -> Model? {
        guard let model = try? type.decoded(from: .object(object)) else { return nil }
        model.becomeNew(subject)
        guard (try? register(model)) != nil else { return nil }
        return model
    }

    /// Notes that a call was not accepted: on its object, or until the object becomes live.
    ///
    /// - Parameter model: The object; `nil` if it was not live.
    func noteRefusal(_ refused: QueueOverlay.RefusedCall, of model: Model?) {
        if let model { return model.noteFailure(refused.failure) }
        if refused.subject.call != .destroy { overlay.refused.append(refused) }
    }
}
