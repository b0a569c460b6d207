import Diamond

/// A snapshot of an object and its nested objects, to roll back a failed save: the values, and which of them are dirty.
final class SaveSnapshot {
    /// The snapshots before and after a change.
    struct Pair {
        let before: SaveSnapshot
        let after: SaveSnapshot
    }

    /// The members of a nested collection.
    struct Members {
        let core: CollectionCore
        var models: [Model]
        var hasChangedMembers: Bool
    }

    private let model: Model
    var slots: [PropertyVisitor.Slot]
    var dirty: ContiguousArray<DirtyProperty>
    let repairs: [Repair]
    let rejections: [Violation]
    let serverID: ModelID?
    /// The states of nested models and of the members of nested collections.
    private(set) var nested: [SaveSnapshot] = []
    var collections: [Members] = []

    /// Takes a snapshot.
    ///
    /// - Parameter before: The snapshot before a change. Its nested models become a part of this one, too.
    init(of model: Model, after before: SaveSnapshot? = nil) {
        self.model = model
        slots = PropertyVisitor.slots(of: model)
        dirty = model.tracking.dirty
        repairs = model.tracking.repairs
        rejections = model.tracking.rejections
        serverID = model.serverID
        // A model that contains itself is in the snapshot already.
        guard !model.tracking.isVisiting else { return }
        model.tracking.isVisiting = true
        defer { model.tracking.isVisiting = false }
        for slot in slots where slot.property.isNested { addNested(slot) }
        guard let before, !before.nested.isEmpty else { return }
        var known = Set(nested.map(\.model))
        for state in before.nested where known.insert(state.model).inserted {
            nested.append(SaveSnapshot(of: state.model, after: state))
        }
    }

    private func addNested(_ slot: PropertyVisitor.Slot) {
        if let child = slot.property.nestedModel(in: slot.value) { nested.append(SaveSnapshot(of: child)) }
        guard let core = slot.property.nestedCollection(in: slot.value) else { return }
        let members = core.allModels
        collections.append(Members(core: core, models: members, hasChangedMembers: core.hasChangedMembers))
        for member in members { nested.append(SaveSnapshot(of: member)) }
    }

    /// Returns the state of the object itself, or of a nested one.
    func state(of model: Model) -> SaveSnapshot? {
        if model === self.model { return self }
        return nested.lazy.compactMap { $0.state(of: model) }.first
    }

    /// Rolls a change back. Restores each value of the snapshot, unless it was set after the change.
    ///
    /// - Parameters:
    ///   - after: The snapshot after the change.
    ///   - later: The snapshots of later changes, in order. Values of this change in them are replaced.
    func restore(_ model: Model, where after: SaveSnapshot, later: [Pair]) {
        // Lazy: a restored value mostly needs the next change only, and a thousand saves may be refused one by one.
        let own = later.lazy.compactMap { pair -> Pair? in
            guard let before = pair.before.state(of: model), let after = pair.after.state(of: model) else { return nil }
            return Pair(before: before, after: after)
        }
        model.transact(source: .rollback) {
            restoreValues(of: model, where: after, later: own)
            if model.serverID == after.serverID, serverID != after.serverID { model.setServerID(serverID) }
        }
        let changes = Dictionary(after.nested.map { ($0.model, $0) }) { first, _ in first }
        for state in nested {
            guard let changed = changes[state.model] else { continue }
            state.restore(state.model, where: changed, later: later)
        }
        for members in collections {
            guard let changed = after.members(of: members.core) else { continue }
            members.restore(where: changed, later: later)
        }
    }

    private func restoreValues(of model: Model, where after: SaveSnapshot, later: some Sequence<Pair>) {
        let current = PropertyVisitor.slots(of: model)
        var back: [PropertyVisitor.Slot] = []
        for (index, slot) in slots.enumerated() {
            let property = slot.property
            let isChanged =
                !property.areSame(slot.value, after.slots[index].value) || entry(property) != after.entry(property)
            guard isChanged else { continue }
            if isReplaced(at: index, where: after, in: later) { continue }
            guard property.areSame(current[index].value, after.slots[index].value) else { continue }
            // A value that was loaded since is newer than the snapshot.
            guard let restored = restored(slot, of: model, from: current[index].value) else { continue }
            back.append(restored)
            model.tracking.repairs += repairs.filter { repair in
                repair.key == property.key && !model.tracking.repairs.contains(repair)
            }
        }
        for change in PropertyVisitor.assign(back, to: model) { model.note(change) }
        if model.tracking.rejections == after.rejections { model.tracking.rejections = rejections }
    }

    /// Returns a slot with the value to restore, and updates the dirty properties; `nil` if the property was neither
    /// dirty in the snapshot nor is it now.
    private func restored(
        _ slot: PropertyVisitor.Slot, of model: Model, from current: Any
    ) -> PropertyVisitor.Slot? {
        let property = slot.property
        let present = model.tracking.dirty.first { $0.property === property }
        guard entry(property) != nil else {
            guard let present else { return nil }
            model.tracking.dirty.removeAll { $0.property === property }
            return PropertyVisitor.Slot(property: property, value: present.original.anyValue)
        }
        if let present {
            let isOriginal = property.areSame(present.original.anyValue, slot.value)
            if isOriginal { model.tracking.dirty.removeAll { $0.property === property } }
        } else if !property.areSame(current, slot.value), let original = property.original(current) {
            model.tracking.dirty.append(DirtyProperty(property: property, original: original))
        }
        return slot
    }

    /// The identity of the property's dirty entry; `nil` for a property that is not dirty.
    private func entry(_ property: AnyProperty) -> ObjectIdentifier? {
        dirty.first { $0.property === property }.map { ObjectIdentifier($0.original) }
    }

    /// Returns the violations for which setters have refused values since another snapshot.
    func newRejections(since before: SaveSnapshot) -> [Violation] {
        rejections.filter { !before.rejections.contains($0) }
    }
}
