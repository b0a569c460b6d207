import Diamond

extension CollectionCore {
    /// Merges the elements of an array into the models with their ids, and adds elements with new ids: at the end, or at
    /// the top.
    ///
    /// Elements that fail are added to `rejected`. They replace earlier ones for the same objects.
    func upsert(_ values: [JSONItem], atTop isAtTop: Bool = false) {
        var seen = Set<ModelID>(minimumCapacity: values.count)
        let isFirst = { (id: ModelID, _: Int) in seen.insert(id).inserted }
        reading {
            removeRejections(of: values)
            let merge = isAtTop ? mergeAtTop : merge
            confirmMembership(of: merge(values[...], isFirst))
        }
    }

    /// Merges elements, and adds those with new ids at the end.
    ///
    /// - Returns: The models that were added.
    func merge(_ values: ArraySlice<JSONItem>, isFirst: (ModelID, Int) -> Bool) -> [Model] {
        var added: [Model] = []
        read(values, isFirst: isFirst) { model in
            if try confirming({ try add(model, at: .sorted, reason: .added) }) { added.append(model) }
        }
        return added
    }

    /// Merges elements, and adds those with new ids at the top.
    ///
    /// - Returns: The models of all elements.
    func mergeAtTop(_ values: ArraySlice<JSONItem>, isFirst: (ModelID, Int) -> Bool) -> [Model] {
        var models: [Model] = []
        read(values, isFirst: isFirst) { models.append($0) }
        // Observers of the merges may have changed the order.
        let first = order.first
        confirming {
            for model in models { _ = try? add(model, at: .before(first), reason: .added) }
        }
        return models
    }

    /// Replaces the content with an array: merges models by id, adds new ones, removes the others, and takes its order.
    ///
    /// - Parameter readers: The readers of a collection without a context.
    func replaceAll(with values: [JSONItem], readers: ObjectReaders? = nil) {
        reading {
            if !rejected.isEmpty { rejected = [] }
            var models: [Model] = []
            var seen = Set<ModelID>(minimumCapacity: values.count)
            if order.first == nil {
                models.reserveCapacity(values.count)
                context?.reserve(values.count)
            }
            read(
                values[...], readers: readers, isFirst: { id, _ in seen.insert(id).inserted },
                refused: { json, error in member(refusing: json, because: error).map { models.append($0) } },
                receive: { models.append($0) })
            let unsaved = unsavedModels(notIn: models)
            replaceMembers(models + unsaved)
            hasChangedMembers = !unsaved.isEmpty
            if hasChangedMembers { syncedIDs = models.map(\.untrackedID) }
        }
    }

    /// Merges a response into the present models, without adding or removing any. Used for a collection with unsaved
    /// additions, removals or moves.
    func mergeMembers(with values: [JSONItem]) {
        let rejected = rejected
        var seen: Set<ModelID> = []
        transaction {
            let known = values.filter { json in (try? id(of: json)).map { entries[$0] != nil } ?? false }
            read(known[...], isFirst: { id, _ in seen.insert(id).inserted }) { _ in }
        }
        syncedIDs = values.compactMap { try? id(of: $0) }
        // Failed elements only concern models that stay.
        if self.rejected != rejected { self.rejected = rejected }
    }

    /// Returns the models that stay although they are not in the response: unsaved ones, and those of newer responses.
    func unsavedModels(notIn models: [Model]) -> [Model] {
        guard let time = context?.answerTime else { return [] }
        let answered = Set(models.map(\.untrackedID))
        return order.map(\.model).filter { !answered.contains($0.untrackedID) && isUnsaved($0, at: time) }
    }

    /// Returns whether a model is unsaved, or has values of a newer response than one.
    func isUnsaved(_ model: Model, at time: SyncTime) -> Bool {
        model.isNew || model.isDirty || model.hasAnswer(since: time)
    }

    /// Returns whether the deletion of an object waits in the queue, or whether an object of a response was destroyed
    /// since the call, or deleted on this device.
    func isGone(_ id: ModelID) -> Bool {
        guard let context else { return false }
        if context.isDeletionWaiting(of: type, id) { return true }
        guard let time = context.answerTime else { return false }
        return context.order.isDestroyed(ModelKey(type, id), since: time)
            || context.order.deleted.contains(ModelKey(type, id))
    }

    /// Replaces the content with models, or throws and changes nothing.
    func setModels(_ models: [Model]) throws {
        let remaining = Set(models.map(ObjectIdentifier.init))
        try admit(models, replacing: order.filter { !remaining.contains(ObjectIdentifier($0.model)) })
        replaceMembers(models)
    }

    /// Replaces the content with admitted models.
    func replaceMembers(_ models: [Model]) {
        if order.elementsEqual(models, by: { $0.model === $1 }), isArranged { return }
        // A page in pieces is then applied at once. An observer that replaces the content after each would never end it.
        application = nil
        transaction {
            let remaining = order.first == nil ? [] : Set(models.map(ObjectIdentifier.init))
            reserveEntries(models.count)
            takeSnapshot()
            membersWillChange()
            for entry in order.filter({ !remaining.contains(ObjectIdentifier($0.model)) }) { drop(entry) }
            for model in models { moveToEnd(model) }
            arrangeAll()
        }
    }

    private func drop(_ entry: Entry) {
        report(Edit.removed, entry)
        touch(entry)
        entry.reason = .removed
        entry.isMember = false
        entry.chunk = nil
        order.remove(entry)
        forget(entry)
    }

    /// Moves a model to the end of the insertion order, or adds it there.
    private func moveToEnd(_ model: Model) {
        if let entry = entry(of: model) {
            report(Edit.moved, entry)
            order.remove(entry)
            order.append(entry)
        } else {
            insert(revivedEntry(of: model) ?? Entry(model, in: self), at: .unarranged, reason: .added)
        }
    }

    /// Reads the elements of an array, and passes each model to `receive`. An element that fails is rejected.
    ///
    /// - Parameters:
    ///   - isFirst: Returns whether the element at an index is the first one with its id.
    ///   - refused: Called with an element that fails.
    func read(
        _ values: ArraySlice<JSONItem>, readers: ObjectReaders? = nil, isFirst: (ModelID, Int) -> Bool,
        refused: (JSONItem, ModelError) -> Void = { _, _ in }, receive: (Model) throws -> Void
    ) {
        if let context, context.answerTime == nil { try? context.refreshCalls(isWhole: false) }
        let list = context?.overlay.list
        context?.overlay.list = source?.request.map { context?.resolved($0).listName ?? $0.listName }
        defer { context?.overlay.list = list }
        let readers = context?.readers ?? readers ?? ObjectReaders()
        for index in values.indices {
            let json = values[index]
            do {
                let object = try json.modelObject()
                let id = try id(of: object)
                guard isFirst(id, index) else {
                    throw ModelError(.duplicateID, "the id \(id) is in the array twice: send each object once")
                }
                if !isGone(id) { try receive(model(with: id, from: object, readers: readers)) }
            } catch {
                refused(json, reject(json.value, at: index, because: error))
            }
        }
    }

    /// Returns the member whose rules have rejected an element.
    func member(refusing json: JSONItem, because error: ModelError) -> Model? {
        error.code == .invalid ? member(for: json) : nil
    }

    @discardableResult
    func reject(_ json: JSONValue, at index: Int, because error: any Error) -> ModelError {
        let error = error as? ModelError ?? ModelError(.malformed, "\(error)")
        rejected.append(Rejection(index: index, json: json, error: error))
        return error
    }

    /// Removes the rejections of elements that are in an array, by id, or by value if there is no id.
    func removeRejections(of values: [JSONItem]) {
        if rejected.isEmpty { return }
        let ids = Set(values.compactMap { try? id(of: $0) })
        let others = Set(values.filter { (try? id(of: $0)) == nil }.map(\.value))
        rejected.removeAll { rejection in
            (try? id(of: rejection.json)).map(ids.contains) ?? others.contains(rejection.json)
        }
    }

    /// Returns the id of an element.
    func id(of json: JSONValue) throws -> ModelID { try id(of: .value(json)) }

    func id(of json: JSONItem) throws -> ModelID { try id(of: json.modelObject()) }

    private func id(of object: ObjectMembers) throws -> ModelID {
        guard let id = object.id(at: type.idKey) else {
            throw ModelError(.missingID, "the object has no id at \"\(type.idKey)\": it is kept in `rejected`")
        }
        return id
    }

    /// Returns the member that an element describes.
    private func member(for json: JSONItem) -> Model? { (try? id(of: json)).flatMap { entries[$0]?.model } }

    func model(with id: ModelID, from json: JSONValue) throws -> Model {
        try model(with: id, from: ObjectMembers(json.modelObject()))
    }

    private func model(with id: ModelID, from object: ObjectMembers, readers: ObjectReaders? = nil) throws -> Model {
        if let context {
            return try context.model(type, from: object, id: id, prepared: preparation?.take(id, for: object))
        }
        guard let model = entries[id]?.model else {
            let model = try type.decoded(from: object, readers: readers)
            guard model.untrackedID == id else {
                throw ModelError(
                    .missingID, "\(Swift.type(of: model)) has another `idKey` than \(type): use the same one")
            }
            return model
        }
        guard Swift.type(of: model).concreteClass(for: object) == Swift.type(of: model) else {
            throw ModelError(.wrongClass, "\(id) is a \(Swift.type(of: model)), and the JSON is of another class")
        }
        try model.merge(object)
        return model
    }

    /// The models as a JSON array in insertion order. Rejected elements are at their indexes. If a member's rules have
    /// rejected an element, only the member is written.
    var json: JSONValue { .array(values { $0.json }) }

    /// Returns the elements of the JSON array, with each model in the given form.
    func values(_ form: (Model) -> JSONValue) -> [JSONValue] {
        var values: [JSONValue] = []
        values.reserveCapacity(entries.count)
        forEachElement { element in
            switch element {
            case .model(let model): values.append(form(model))
            case .rejected(let json): values.append(json)
            }
        }
        return values
    }

    /// An element of the JSON array.
    enum Element {
        case model(Model)
        case rejected(JSONValue)
    }

    /// Calls `body` with each element of the JSON array.
    func forEachElement(_ body: (Element) -> Void) {
        collection?.track()
        if rejected.isEmpty { return allModels.forEach { body(.model($0)) } }
        var elements = allModels.map(Element.model)
        let others = rejected.filter { $0.error.code != .invalid || member(for: .value($0.json)) == nil }
        for rejection in others.sorted(by: { $0.index < $1.index }) {
            elements.insert(.rejected(rejection.json), at: min(rejection.index, elements.count))
        }
        elements.forEach(body)
    }

    // MARK: As a property of a model

    /// Whether there is anything to write.
    var hasContent: Bool { !entries.isEmpty || !rejected.isEmpty }

    var isDirty: Bool {
        var visited: Set<ObjectIdentifier> = []
        return isDirty(visited: &visited)
    }

    func markSynced() {
        hasChangedMembers = false
        // Not the entries: an observer may remove some of them.
        for model in allModels { model.markSynced() }
    }

    func hasEqualModels(to other: CollectionCore) -> Bool {
        let left = allModels
        let right = other.allModels
        return left.count == right.count && zip(left, right).allSatisfy { $0.isEqual(to: $1) }
    }

    /// Fills a new collection of the same context with the models of another one.
    func share(_ other: CollectionCore) { replaceMembers(other.allModels) }

    /// Fills a new collection with copies of the models of another one.
    func fillWithCopies(of other: CollectionCore) {
        rejected = other.rejected
        context = nil
        replaceMembers(other.allModels.map { $0.copy() })
        hasChangedMembers = other.hasChangedMembers
        syncedIDs = other.syncedIDs
    }
}
