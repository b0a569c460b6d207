import Diamond

/// A snapshot of an object and its nested objects, to roll back a failed save: the values, and which of them are dirty.
final class SaveState {
    let slots: [PropertyVisitor.Slot]
    let dirty: ContiguousArray<DirtyProperty>
    let repairs: [Repair]
    let rejections: [Violation]
    let serverID: ModelID?
    /// The states of nested models and of the members of nested collections.
    private var nested: [(model: Model, state: SaveState)] = []
    /// The members of nested collections.
    private var collections: [(core: CollectionCore, members: [Model], hasChangedMembers: Bool)] = []

    /// Takes a snapshot.
    ///
    /// - Parameter before: The snapshot before a change. Its nested models become a part of this one, too.
    init(of model: Model, after before: SaveState? = nil) {
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
        for (model, state) in before?.nested ?? [] where !nested.contains(where: { $0.model === model }) {
            nested.append((model, SaveState(of: model, after: state)))
        }
    }

    private func addNested(_ slot: PropertyVisitor.Slot) {
        if let child = slot.property.nestedModel(in: slot.value) { nested.append((child, SaveState(of: child))) }
        guard let core = slot.property.nestedCollection(in: slot.value) else { return }
        let members = core.allModels
        collections.append((core, members, core.hasChangedMembers))
        for member in members { nested.append((member, SaveState(of: member))) }
    }

    /// Rolls a change back. Restores each value of the snapshot, unless it was set after the change.
    ///
    /// - Parameter after: The snapshot after the change.
    func restore(_ model: Model, where after: SaveState) {
        model.transact(source: .rollback) {
            restoreValues(of: model, where: after)
            if model.serverID == after.serverID, serverID != after.serverID { model.setServerID(serverID) }
        }
        for (model, state) in nested {
            guard let changed = after.nested.first(where: { $0.model === model })?.state else { continue }
            state.restore(model, where: changed)
        }
        for (core, members, hasChangedMembers) in collections {
            guard let changed = after.collections.first(where: { $0.core === core }) else { continue }
            if members.elementsEqual(changed.members, by: ===) { continue }
            guard core.allModels.elementsEqual(changed.members, by: ===) else { continue }
            try? core.setModels(members)
            core.hasChangedMembers = hasChangedMembers
        }
    }

    private func restoreValues(of model: Model, where after: SaveState) {
        let current = PropertyVisitor.slots(of: model)
        var back: [PropertyVisitor.Slot] = []
        for (index, slot) in slots.enumerated() {
            let property = slot.property
            let isChanged =
                !property.areSame(slot.value, after.slots[index].value) || entry(property) != after.entry(property)
            guard isChanged, property.areSame(current[index].value, after.slots[index].value) else { continue }
            // A value that was loaded since is newer than the snapshot.
            let present = model.tracking.dirty.first { $0.property === property }
            if entry(property) == nil {
                guard let present else { continue }
                back.append(PropertyVisitor.Slot(property: property, value: present.original.anyValue))
                model.tracking.dirty.removeAll { $0.property === property }
            } else {
                back.append(slot)
                if let present {
                    let isOriginal = property.areSame(present.original.anyValue, slot.value)
                    if isOriginal { model.tracking.dirty.removeAll { $0.property === property } }
                } else if !property.areSame(current[index].value, slot.value),
                    let original = property.original(current[index].value)
                {
                    model.tracking.dirty.append(DirtyProperty(property: property, original: original))
                }
            }
            model.tracking.repairs += repairs.filter { repair in
                repair.key == property.key && !model.tracking.repairs.contains(repair)
            }
        }
        for change in PropertyVisitor.assign(back, to: model) { model.note(change) }
        if model.tracking.rejections == after.rejections { model.tracking.rejections = rejections }
    }

    /// The identity of the property's dirty entry; `nil` for a property that is not dirty.
    private func entry(_ property: AnyProperty) -> ObjectIdentifier? {
        dirty.first { $0.property === property }.map { ObjectIdentifier($0.original) }
    }

    /// Returns the violations for which setters have refused values since another snapshot.
    func newRejections(since before: SaveState) -> [Violation] {
        rejections.filter { !before.rejections.contains($0) }
    }
}
