import Diamond

extension CollectionCore {
    /// Takes in the elements of an array: merges those that are there, adds the others at the end.
    ///
    /// Elements that cannot be taken in are kept in `rejected`.
    func upsert(_ values: [JSONValue]) {
        transaction {
            for model in models(values) { _ = try? add(model, at: .sorted, .added) }
        }
    }

    /// Makes the content that of an array: merges, adds, removes what it does not have, and takes over its order.
    func replaceAll(with values: [JSONValue]) {
        transaction {
            rejected = []
            setModels(models(values))
            hasChangedMembers = false
        }
    }

    /// Makes the content that of a list, with its order.
    func setModels(_ models: [Model]) {
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
            _ = try? add(model, at: .sorted, .added)
        }
    }

    /// Reads the array of a new object's property.
    func load(_ values: [JSONValue], log: inout RepairLog) {
        if context == nil { context = log.context }
        replaceAll(with: values)
        for rejection in rejected {
            _ = log.within("[\(rejection.index)]", found: rejection.json) { _ -> Void? in nil }
        }
    }

    /// The models of an array; what is none of them goes to `rejected`.
    private func models(_ values: [JSONValue]) -> [Model] {
        var seen: Set<ModelID> = []
        return values.enumerated().compactMap { index, json in
            do {
                let id = try id(of: json)
                guard seen.insert(id).inserted else {
                    throw ModelError(.duplicateID, "the id \(id) stands twice in the array: send each object once")
                }
                return try model(id, json)
            } catch let error as ModelError {
                rejected.append(Rejection(index: index, json: json, error: error))
            } catch {
                let error = ModelError(.malformed, "\(error)")
                rejected.append(Rejection(index: index, json: json, error: error))
            }
            return nil
        }
    }

    private func id(of json: JSONValue) throws -> ModelID {
        guard let id = try json.modelObject()[type.idKey].flatMap(ModelID.init(json:)) else {
            throw ModelError(.missingID, "the object has no id at \"\(type.idKey)\": it is kept apart, not shown")
        }
        return id
    }

    private func model(_ id: ModelID, _ json: JSONValue) throws -> Model {
        if let context { return try context.model(type, from: json) }
        guard let model = entries[id]?.model else { return try type.decoded(from: json) }
        guard Swift.type(of: model).concreteClass(for: try json.modelObject()) == Swift.type(of: model) else {
            throw ModelError(.wrongClass, "\(id) is a \(Swift.type(of: model)), and the JSON is of another class")
        }
        try model.merge(json)
        return model
    }

    /// The models as a JSON array in the insertion order, with the rejected elements at their indexes.
    var json: JSONValue {
        var values = allModels.map(\.json)
        for rejection in rejected.sorted(by: { $0.index < $1.index }) {
            values.insert(rejection.json, at: min(rejection.index, values.count))
        }
        return .array(values)
    }

    // MARK: As a property of a model

    var isDirty: Bool { hasChangedMembers || order.contains { $0.model.isDirty } }

    func markSynced() {
        hasChangedMembers = false
        for entry in order { entry.model.markSynced() }
    }

    func hasEqualModels(to other: CollectionCore) -> Bool {
        let (left, right) = (allModels, other.allModels)
        return left.count == right.count && zip(left, right).allSatisfy { $0.isEqual(to: $1) }
    }

    /// Fills a new collection with copies of another's models.
    func takeCopies(of other: CollectionCore) {
        rejected = other.rejected
        setModels(other.allModels.map { $0.copy() })
        hasChangedMembers = other.hasChangedMembers
    }
}
