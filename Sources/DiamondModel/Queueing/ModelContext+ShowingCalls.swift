import Diamond

/// Showing the calls that wait in the queue on their objects.
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
    func show(_ calls: [WaitingCalls.Call], on model: Model) {
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
