import Diamond

extension CollectionCore {
    /// Merges the elements of an array into the models with their ids, and adds the others at the end.
    ///
    /// Elements that fail are kept in `rejected`, in place of earlier ones for the same objects.
    func upsert(_ values: [JSONValue]) {
        transaction {
            forgetRejections(of: values)
            read(values) { model in _ = try add(model, at: .sorted, .added) }
        }
    }

    /// Merges as ``upsert(_:)`` does, and adds the others before all that is there.
    func upsertAtTop(_ values: [JSONValue]) {
        transaction {
            forgetRejections(of: values)
            var arrived: [Model] = []
            read(values) { arrived.append($0) }
            // Observers of the merges may have changed the order.
            let first = order.first
            for model in arrived { _ = try? add(model, at: .before(first), .added) }
        }
    }

    /// Replaces the content by that of an array: merges by id, adds, removes the other models, and takes over the order.
    func replaceAll(with values: [JSONValue]) {
        transaction {
            rejected = []
            var models: [Model] = []
            read(values, refused: { models.append($0) }, take: { models.append($0) })
            let unsaved = unsavedModels(beside: models)
            list(models + unsaved)
            hasChangedMembers = !unsaved.isEmpty
        }
    }

    /// Merges an answer into the models that are there. None comes and none leaves: members that a user has changed are kept
    /// until they are saved.
    func mergeMembers(with values: [JSONValue]) {
        let rejected = rejected
        transaction {
            read(values.filter { json in (try? id(of: json)).map { entries[$0] != nil } ?? false }) { _ in }
        }
        // The models of those that fail are there.
        self.rejected = rejected
    }

    /// The models that an answer does not have, and that have to stay: those with something to save, and those that newer
    /// answers are of.
    private func unsavedModels(beside models: [Model]) -> [Model] {
        guard let time = context?.answerTime else { return [] }
        let answered = Set(models.map(ObjectIdentifier.init))
        return order.map(\.model).filter { model in
            !answered.contains(ObjectIdentifier(model))
                && (model.isNew || model.isDirty || model.hasAnswer(since: time))
        }
    }

    /// Whether an element of an answer is gone: destroyed since the call, or deleted here.
    private func isGone(_ id: ModelID) -> Bool {
        guard let context, let time = context.answerTime else { return false }
        return context.order.isDestroyed(ModelKey(type, id), since: time)
            || context.order.deleted.contains(ModelKey(type, id))
    }

    /// Replaces the content by that of a list, or throws and changes nothing.
    func setModels(_ models: [Model]) throws {
        let kept = Set(models.map(ObjectIdentifier.init))
        try admit(models, for: order.filter { !kept.contains(ObjectIdentifier($0.model)) })
        list(models)
    }

    /// Replaces the content by a list of models that were admitted.
    private func list(_ models: [Model]) {
        transaction {
            let kept = Set(models.map(ObjectIdentifier.init))
            takeSnapshot()
            for entry in order.filter({ !kept.contains(ObjectIdentifier($0.model)) }) { leave(entry) }
            for model in models { relist(model) }
            hasChangedMembers = true
            arrangeAll()
        }
    }

    private func leave(_ entry: Entry) {
        touch(entry)
        entry.reason = .removed
        entry.isMember = false
        entry.row = nil
        order.remove(entry)
        forget(entry)
    }

    /// Puts a model at the end of the insertion order.
    private func relist(_ model: Model) {
        if let entry = entry(of: model) {
            order.remove(entry)
            order.append(entry)
        } else {
            insert(revived(model) ?? Entry(model, in: self), at: .sorted, .added)
        }
    }

    /// Reads the elements of an array, and calls `take` for each. An element that fails is rejected.
    ///
    /// - Parameter refused: called for a member whose rules refuse its element.
    private func read(
        _ values: [JSONValue], refused: (Model) -> Void = { _ in }, take: (Model) throws -> Void
    ) {
        var seen: Set<ModelID> = []
        for (index, json) in values.enumerated() {
            do {
                let id = try id(of: json)
                guard seen.insert(id).inserted else {
                    throw ModelError(.duplicateID, "the id \(id) stands twice in the array: send each object once")
                }
                if !isGone(id) { try take(model(id, json)) }
            } catch {
                let error = error as? ModelError ?? ModelError(.malformed, "\(error)")
                rejected.append(Rejection(index: index, json: json, error: error))
                if error.code == .invalid, let member = member(for: json) { refused(member) }
            }
        }
    }

    /// Drops the rejections of elements that an array has too, by id, or as a whole where there is none.
    private func forgetRejections(of values: [JSONValue]) {
        if rejected.isEmpty { return }
        let ids = Set(values.compactMap { try? id(of: $0) })
        let others = Set(values.filter { (try? id(of: $0)) == nil })
        rejected.removeAll { rejection in
            (try? id(of: rejection.json)).map(ids.contains) ?? others.contains(rejection.json)
        }
    }

    /// Returns the id of an element.
    func id(of json: JSONValue) throws -> ModelID {
        guard let id = try json.modelObject()[type.idKey].flatMap(ModelID.init(json:)) else {
            throw ModelError(.missingID, "the object has no id at \"\(type.idKey)\": it is kept in `rejected`")
        }
        return id
    }

    /// The member that an element is for.
    private func member(for json: JSONValue) -> Model? { (try? id(of: json)).flatMap { entries[$0]?.model } }

    private func model(_ id: ModelID, _ json: JSONValue) throws -> Model {
        if let context { return try context.model(type, from: json) }
        guard let model = entries[id]?.model else {
            let model = try type.decoded(from: json)
            guard model.modelID == id else {
                throw ModelError(.missingID, "\(Swift.type(of: model)) has its id at another key than \(type)")
            }
            return model
        }
        guard Swift.type(of: model).concreteClass(for: try json.modelObject()) == Swift.type(of: model) else {
            throw ModelError(.wrongClass, "\(id) is a \(Swift.type(of: model)), and the JSON is of another class")
        }
        try model.merge(json)
        return model
    }

    /// The models as a JSON array in the insertion order, with the rejected elements at their indexes, but for those that the
    /// rules of members have refused.
    var json: JSONValue {
        var values = allModels.map(\.json)
        let others = rejected.filter { $0.error.code != .invalid || member(for: $0.json) == nil }
        for rejection in others.sorted(by: { $0.index < $1.index }) {
            values.insert(rejection.json, at: min(rejection.index, values.count))
        }
        return .array(values)
    }

    // MARK: As a property of a model

    /// Whether there is anything to write.
    var hasContent: Bool { !entries.isEmpty || !rejected.isEmpty }

    var isDirty: Bool { hasChangedMembers || order.contains { $0.model.isDirty } }

    func markSynced() {
        hasChangedMembers = false
        for entry in order { entry.model.markSynced() }
    }

    func hasEqualModels(to other: CollectionCore) -> Bool {
        let (left, right) = (allModels, other.allModels)
        return left.count == right.count && zip(left, right).allSatisfy { $0.isEqual(to: $1) }
    }

    /// Fills a new collection of the same context with another's models.
    func share(_ other: CollectionCore) { list(other.allModels) }

    /// Fills a new collection with copies of another's models.
    func fillWithCopies(of other: CollectionCore) {
        rejected = other.rejected
        context = nil
        list(other.allModels.map { $0.copy() })
        hasChangedMembers = other.hasChangedMembers
    }
}
