import Diamond

/// The states of later changes, when an earlier change was refused or confirmed.
extension SaveSnapshot {
    /// Returns whether a later change, or the user, has set a property after a refused change. Its value before the
    /// later change is then the one before the refused change.
    ///
    /// - Parameters:
    ///   - index: The index of the property.
    ///   - after: The state after the refused change, whose state before is this one.
    ///   - later: The states of later changes, in order.
    func isReplaced(at index: Int, where after: SaveSnapshot, in later: some Sequence<Pair>) -> Bool {
        let refused = after.slots[index]
        let isRefused = { (slot: PropertyVisitor.Slot) in refused.property.areSame(slot.value, refused.value) }
        for pair in later {
            guard isRefused(pair.before.slots[index]) else { return true }
            let isSet = !isRefused(pair.after.slots[index])
            pair.before.take(index, from: self)
            if isSet { return true }
            pair.after.take(index, from: self)
        }
        return false
    }

    /// Takes a value from another state of the same object, and whether it is dirty.
    private func take(_ index: Int, from other: SaveSnapshot) {
        let property = slots[index].property
        slots[index] = other.slots[index]
        dirty.removeAll { $0.property === property }
        dirty += other.dirty.filter { $0.property === property }
    }

    /// Makes a value that the server has confirmed a clean one.
    func confirm(_ value: Any, of property: AnyProperty) {
        guard let slot = slots.first(where: { $0.property === property }), property.areSame(slot.value, value) else {
            return
        }
        dirty.removeAll { $0.property === property }
    }

    // MARK: Members of nested collections

    func members(of core: CollectionCore) -> Members? { collections.first { $0.core === core } }

    /// Makes members that the server has confirmed unchanged ones.
    func confirm(_ members: [Model], of core: CollectionCore) {
        for index in collections.indices where collections[index].core === core {
            let isConfirmed = collections[index].models.elementsEqual(members, by: ===)
            if isConfirmed { collections[index].hasChangedMembers = false }
        }
        for state in nested { state.confirm(members, of: core) }
    }

    /// Undoes a refused change of members in the state of a later change.
    fileprivate func undo(_ change: MemberChange, of core: CollectionCore) {
        for index in collections.indices where collections[index].core === core { change.undo(&collections[index]) }
        for state in nested { state.undo(change, of: core) }
    }
}

/// A change of the members of a collection.
private struct MemberChange {
    let before: SaveSnapshot.Members
    let after: SaveSnapshot.Members

    /// Returns members without the added models, and with the removed ones at their old indexes.
    func undone(_ models: [Model]) -> [Model] {
        if models.elementsEqual(after.models, by: ===) { return before.models }
        let (earlier, later) = (Set(before.models), Set(after.models))
        var models = models.filter { earlier.contains($0) || !later.contains($0) }
        let present = Set(models)
        for (index, model) in before.models.enumerated() where !later.contains(model) && !present.contains(model) {
            models.insert(model, at: min(index, models.count))
        }
        return models
    }

    func undo(_ members: inout SaveSnapshot.Members) {
        let isSame = members.models.elementsEqual(after.models, by: ===)
        members.models = undone(members.models)
        if isSame { members.hasChangedMembers = before.hasChangedMembers }
    }
}

extension SaveSnapshot.Members {
    /// Restores the members before a refused change.
    ///
    /// - Parameters:
    ///   - after: The members after the change.
    ///   - later: The states of later changes, in order.
    func restore(where after: Self, later: [SaveSnapshot.Pair]) {
        if models.elementsEqual(after.models, by: ===) { return }
        let change = MemberChange(before: self, after: after)
        let current = core.allModels
        let isUnchanged = current.elementsEqual(after.models, by: ===)
        // Without later changes, other members were set by the user.
        guard isUnchanged || later.contains(where: { $0.after.hasMembers(current, of: core) }) else { return }
        for pair in later {
            pair.before.undo(change, of: core)
            pair.after.undo(change, of: core)
        }
        core.reading { try? core.setModels(change.undone(current)) }
        if isUnchanged { core.hasChangedMembers = hasChangedMembers }
    }
}

extension SaveSnapshot {
    fileprivate func hasMembers(_ models: [Model], of core: CollectionCore) -> Bool {
        members(of: core)?.models.elementsEqual(models, by: ===) ?? false
            || nested.contains { $0.hasMembers(models, of: core) }
    }
}
