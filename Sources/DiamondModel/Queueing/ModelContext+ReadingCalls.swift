import Diamond
import Observation

/// Reading the calls that wait in the queue.
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
            for call in earlier where !call.isAnswered && calls[call.job.id] == nil { confirm(call, of: model) }
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
    func isShown(
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
