/// A reversible edit.
enum Edit {
    /// The value of a model was set: of the model with the event itself, or of a nested one.
    case value(Model, PropertyChange, in: Model)
    case added(Model, CollectionCore, wasDeleted: Bool)
    case removed(Model, CollectionPosition)
    case moved(Model, CollectionPosition)

    /// Restores the state before some edits, in one transaction of each object.
    ///
    /// - Returns: Whether anything has changed.
    static func revert(_ edits: [Edit]) -> Bool {
        var hasEffect = false
        // The transactions of collections have those of their models inside.
        let cores = unique(edits.compactMap(\.core))
        let models = unique(edits.compactMap(\.model))
        for core in cores { core.beginTransaction() }
        let transactions = models.map { $0.beginTransaction() }
        for edit in edits.reversed() where edit.revert() { hasEffect = true }
        for core in cores { core.compareSyncedMembers() }
        for (model, transaction) in zip(models, transactions).reversed() { model.end(transaction, source: .user) }
        for core in cores.reversed() { core.endTransaction() }
        return hasEffect
    }

    /// Returns objects without repetitions, each at its last place.
    private static func unique<Object: AnyObject>(_ objects: [Object]) -> [Object] {
        var known: Set<ObjectIdentifier> = []
        return objects.reversed().filter { known.insert(ObjectIdentifier($0)).inserted }.reversed()
    }

    /// The model whose event had the value; `nil` for members of a collection.
    private var model: Model? { if case .value(_, _, let model) = self { model } else { nil } }

    /// The collection whose members or order changed.
    private var core: CollectionCore? {
        switch self {
        case .value: nil
        case .added(_, let core, _): core
        case .removed(_, let position), .moved(_, let position): position.core
        }
    }

    /// Restores the state before the edit, as an edit of the user.
    private func revert() -> Bool {
        switch self {
        case .value(let model, let change, _):
            return !model.assign([PropertyVisitor.Slot(property: change.property, value: change.old)]).isEmpty
        case .added(let model, let core, let wasDeleted):
            guard let entry = core.entry(of: model) else { return false }
            core.remove(entry)
            if wasDeleted { core.context?.order.deleted.insert(ModelKey(type(of: model), model.modelID)) }
        case .removed(let model, let position):
            guard position.core.entries[model.modelID] == nil, !position.core.isGone(model) else { return false }
            position.restore(model)
        case .moved(let model, let position):
            guard let entry = position.core.entry(of: model) else { return false }
            position.core.remove(entry, reason: .moved)
            position.restore(model)
        }
        return true
    }

    /// Returns edits without the later ones of the same value, such as those of an author that many rows report.
    static func distinct(_ edits: [Edit]) -> [Edit] {
        var known: Set<[ObjectIdentifier]> = []
        return edits.filter { edit in
            guard case .value(let model, let change, _) = edit else { return true }
            return known.insert([ObjectIdentifier(model), ObjectIdentifier(change.property)]).inserted
        }
    }

    /// Returns the edits in a model's event, of the model itself and of nested models. Added, removed and moved members
    /// of nested collections are in other events.
    static func edits(in event: ModelEvent) -> [Edit] {
        guard event.source == .user else { return [] }
        return event.changes.compactMap { change in change.holder.map { .value($0, change, in: event.model) } }
    }
}
