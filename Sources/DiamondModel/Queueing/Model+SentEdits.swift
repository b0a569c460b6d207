import Diamond

/// Putting the values of queued calls into objects again.
extension Model {
    /// Sets properties to the values that were sent. They count as unsaved changes of the user.
    ///
    /// - Parameter newer: The properties that were set since, by object. They keep their values. Those of an object
    ///   without an entry are its dirty ones, and its collections with changed members.
    final func applyEdits(from object: [String: JSONValue], except newer: inout [Model: [AnyProperty]]) throws {
        let own = newer[self] ?? changedProperties
        newer[self] = own
        // Not the class for the JSON: changes need not have the member that names it.
        let sent = type(of: self).init()
        try sent.start(with: ObjectMembers(object))
        var slots: [PropertyVisitor.Slot] = []
        for (slot, current) in zip(PropertyVisitor.slots(of: sent), PropertyVisitor.slots(of: self)) {
            guard slot.property.access == .user, let json = slot.property.keyFound(in: object)?.value(in: object) else {
                continue
            }
            let isNewer = own.contains { $0 === slot.property }
            let isApplied = try applyNestedEdits(from: json, to: current, sent: slot, isNewer: isNewer, except: &newer)
            if !isApplied, !isNewer { slots.append(liveSlot(of: slot)) }
        }
        assignEdits(slots)
    }

    /// Applies the sent values of a nested collection, or of the nested model that the property already has.
    ///
    /// - Parameters:
    ///   - current: The slot of this object.
    ///   - sent: The slot of an object with the sent values.
    ///   - isNewer: Whether the property was set since.
    /// - Returns: `false` if the property itself is to be set.
    private func applyNestedEdits(
        from json: JSONValue, to current: PropertyVisitor.Slot, sent: PropertyVisitor.Slot, isNewer: Bool,
        except newer: inout [Model: [AnyProperty]]
    ) throws -> Bool {
        if let core = current.nestedCollection {
            if case .array(let elements) = json {
                try core.applyEdits(from: elements, keepingMembers: isNewer, except: &newer)
            }
            return true
        }
        guard !isNewer, let child = current.nestedModel, let edited = sent.nestedModel, case .object(let edits) = json,
            edited.serverID == nil || edited.serverID == child.serverID
        else { return false }
        try child.applyEdits(from: edits, except: &newer)
        return true
    }

    /// Returns a slot with the live instance of its nested model, if there is one.
    private func liveSlot(of slot: PropertyVisitor.Slot) -> PropertyVisitor.Slot {
        guard let nested = slot.nestedModel, let id = nested.serverID,
            let live = context?.live(at: ModelKey(type(of: nested), id)), type(of: live) == type(of: nested)
        else { return slot }
        return PropertyVisitor.Slot(property: slot.property, value: live)
    }

    private func assignEdits(_ slots: [PropertyVisitor.Slot]) {
        transact(source: .server) {
            for change in PropertyVisitor.assign(slots, to: self) {
                note(change)
                adoptNested(change.new, in: change.property)
                tracking.repairs.removeAll { $0.key == change.property.key }
                guard !isDirty(change.property), let original = change.property.original(change.old) else { continue }
                tracking.dirty.append(DirtyProperty(property: change.property, original: original))
            }
        }
    }

    /// The properties that were set, and the collections whose members were added, removed or moved, since the last
    /// sync.
    private var changedProperties: [AnyProperty] {
        let collections = nestedSlots.filter { $0.nestedCollection?.hasChangedMembers ?? false }.map(\.property)
        return tracking.dirty.map(\.property) + collections
    }

    /// Sets properties to values that the server has refused, unless they were set since.
    final func restoreEdits(from object: [String: JSONValue]) {
        var newer: [Model: [AnyProperty]] = [:]
        try? applyEdits(from: object, except: &newer)
    }

    /// Marks an object, and nested objects without an id, that were decoded from a queued call as new.
    final func becomeNew(_ subject: QueuedSubject) {
        tracking.source = nil
        tracking.repairs = []
        tracking.localID = subject.localID
        if subject.serverID == nil { tracking.serverID = nil }
        for slot in nestedSlots { slot.nestedCollection?.addNewRejections() }
    }
}

extension CollectionCore {
    /// Sets the members to the sent elements, and the properties of members to the sent values.
    ///
    /// - Parameter keepsMembers: Whether members were added, removed or moved since. Then they stay.
    fileprivate func applyEdits(
        from elements: [JSONValue], keepingMembers keepsMembers: Bool, except newer: inout [Model: [AnyProperty]]
    ) throws {
        var members: [Model] = []
        var newMembers = allModels.filter(\.isNew)
        for element in elements {
            guard case .object(let object) = element else { continue }
            if let id = try? id(of: element) {
                let live = entries[id]?.model ?? context?.live(at: ModelKey(type, id))
                guard let member = keepsMembers ? live : live ?? (try? model(with: id, from: element)) else { continue }
                members.append(member)
                try member.applyEdits(from: object, except: &newer)
            } else if let index = newMembers.firstIndex(where: { $0.json == element }) {
                members.append(newMembers.remove(at: index))
            } else if !keepsMembers, let member = newMember(from: element) {
                members.append(member)
            }
        }
        if keepsMembers || members.elementsEqual(allModels, by: ===) { return }
        reading { try? setModels(members) }
    }

    /// Returns a new model for an element without an id; `nil` if the element cannot be read.
    private func newMember(from json: JSONValue) -> Model? {
        guard let model = try? type.decoded(from: json) else { return nil }
        model.tracking.source = nil
        model.tracking.repairs = []
        return model
    }

    /// Adds the elements that were rejected because they have no id as new members.
    fileprivate func addNewRejections() {
        for rejection in rejected where rejection.error.code == .missingID {
            if let model = newMember(from: rejection.json) { try? add([model]) }
        }
        rejected.removeAll { $0.error.code == .missingID }
        // The call that creates their owner has them.
        hasChangedMembers = false
    }
}
