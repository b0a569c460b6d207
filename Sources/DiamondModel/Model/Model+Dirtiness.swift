import Diamond
import Observation

/// The values that were set since the last sync. Nested models and collections are asked for theirs at each call, so
/// that the answer does not depend on who observes or holds them.
extension Model {
    /// Whether a property was set since the last sync, including properties of nested models and collections.
    public final var isDirty: Bool {
        var visited: Set<ObjectIdentifier> = []
        return isDirty(visited: &visited)
    }

    /// - Parameter visited: The models that were asked already. Breaks cycles.
    final func isDirty(visited: inout Set<ObjectIdentifier>) -> Bool {
        registrar?.access(self, keyPath: \Model.isDirty)
        if !tracking.dirty.isEmpty { return !visited.contains(ObjectIdentifier(self)) }
        if tracking.nesting == .absent { return false }
        guard visited.insert(ObjectIdentifier(self)).inserted else { return false }
        return nestedSlots.contains { slot in
            if slot.property.access == .transient { return false }
            return slot.nestedModel?.isDirty(visited: &visited) ?? slot.nestedCollection?.isDirty(visited: &visited)
                ?? false
        }
    }

    /// The properties with models and collections, and their values.
    final var nestedSlots: [PropertyVisitor.Slot] {
        if tracking.nesting == .absent { return [] }
        let slots = PropertyVisitor.nestedSlots(of: self)
        if slots.isEmpty { tracking.nesting = .absent }
        return slots
    }

    /// The properties that were set since the last sync, in the order in which they were first set.
    public final var dirtyProperties: [AnyProperty] {
        track(PropertyVisitor.slots(of: self))
        return tracking.dirty.map(\.property)
    }

    /// Whether a property was set since the last sync.
    public final func isDirty(_ property: AnyProperty) -> Bool {
        property.access(on: self)
        trackSyncState()
        return tracking.isDirty(property)
    }
}

extension PropertyVisitor.Slot {
    var nestedModel: Model? { property.nestedModel(in: value) }
    var nestedCollection: CollectionCore? { property.nestedCollection(in: value) }

    /// The nested model, or the members of the nested collection, with their paths: `author`, `lines[2]`.
    var nestedModels: [(path: String, model: Model)] {
        if let nestedModel { return [(property.key, nestedModel)] }
        return (nestedCollection?.allModels ?? []).enumerated().map { ("\(property.key)[\($0)]", $1) }
    }
}

// MARK: Rollback

extension Model {
    /// Restores properties that were set since the last sync: all of them, or the given ones. Nested models and
    /// collections are restored, too.
    ///
    /// A nested collection has its members of the last sync again, in their order. An id that another model has by now
    /// stays dirty and is added to ``rejections``.
    public final func rollback(_ properties: AnyProperty...) {
        var visited: Set<ObjectIdentifier> = []
        rollback(properties, visited: &visited)
    }

    final func rollback(_ properties: [AnyProperty], visited: inout Set<ObjectIdentifier>) {
        guard visited.insert(ObjectIdentifier(self)).inserted else { return }
        func isIncluded(_ property: AnyProperty) -> Bool {
            properties.isEmpty || properties.contains { $0 === property }
        }
        let back = tracking.dirty.filter { isIncluded($0.property) && isReversible($0.property) }
        transact(source: .rollback) {
            let slots = back.map { PropertyVisitor.Slot(property: $0.property, value: $0.original.anyValue) }
            for change in PropertyVisitor.assign(slots, to: self) {
                note(change)
                if change.property.key == Self.idKey { setServerID(syncedID) }
            }
            tracking.dirty.removeAll { entry in back.contains { $0.property === entry.property } }
            for slot in nestedSlots where slot.property.access != .transient && isIncluded(slot.property) {
                slot.nestedModel?.rollback([], visited: &visited)
                slot.nestedCollection?.rollback(to: syncedElements(of: slot.property), visited: &visited)
            }
        }
    }

    /// The server's id as of the last sync.
    private var syncedID: ModelID? { tracking.source?[Self.idKey].flatMap(ModelID.init(json:)) }

    /// Returns the elements of a nested collection as of the last sync; `nil` if the server has sent none.
    private func syncedElements(of property: AnyProperty) -> [JSONValue]? {
        guard let source = tracking.source, case .array(let elements)? = property.writeKey(in: source).value(in: source)
        else { return nil }
        return elements
    }

    /// Returns whether the property can be restored. An id cannot if another model has it by now.
    private func isReversible(_ property: AnyProperty) -> Bool {
        guard property.key == Self.idKey, let id = syncedID, isTaken(id) else { return true }
        reject(property, for: ["unique"])
        return false
    }
}

extension CollectionCore {
    func isDirty(visited: inout Set<ObjectIdentifier>) -> Bool {
        collection?.track()
        return hasChangedMembers || order.contains { $0.model.isDirty(visited: &visited) }
    }

    /// Restores the members of the last sync, and their values.
    ///
    /// - Parameter elements: The elements of the last sync; `nil` if they are not known. Only new members are removed
    ///   then.
    fileprivate func rollback(to elements: [JSONValue]?, visited: inout Set<ObjectIdentifier>) {
        reading {
            if hasChangedMembers {
                replaceMembers(elements.map(syncedMembers) ?? allModels.filter { !$0.isNew })
                hasChangedMembers = false
            }
            // Not the entries: an observer may remove some of them.
            for model in allModels { model.rollback([], visited: &visited) }
        }
    }

    /// Returns the members that elements stand for: present ones, removed ones that are still live, and else new ones.
    private func syncedMembers(_ elements: [JSONValue]) -> [Model] {
        if let syncedIDs {
            let members = allModels.flatMap { model in model.tracking.ids.map { ($0, model) } }
            let present = Dictionary(members) { first, _ in first }
            let known = Dictionary(elements.compactMap { json in (try? id(of: json)).map { ($0, json) } }) { $1 }
            return syncedIDs.compactMap { id in
                present[id] ?? context?.live(at: ModelKey(type, id))
                    ?? known[id].flatMap { try? model(with: id, from: $0) }
            }
        }
        var newMembers = allModels.filter(\.isNew)
        return elements.compactMap { json in
            guard let id = try? id(of: json) else {
                // The server has confirmed a new member, and reported no id.
                return newMembers.firstIndex { $0.json == json }.map { newMembers.remove(at: $0) }
            }
            return entries[id]?.model ?? context?.live(at: ModelKey(type, id)) ?? (try? model(with: id, from: json))
        }
    }
}
