import Diamond

extension SentObject {
    /// Makes the sent values saved ones, also those of nested objects.
    ///
    /// - Parameters:
    ///   - answer: The JSON of the object in the response; `nil` if there is none.
    ///   - later: The visible changes of the saved object that were not answered.
    ///   - newer: The keys of properties of which the object has newer values of the server than the sent ones.
    func acknowledge(answer: JSONValue?, later: [VisibleChange], newer: Set<String> = []) {
        var members: [String: JSONValue] = [:]
        if case .object(let object)? = answer { members = object }
        model.transact(source: .server) {
            model.tracking.source = model.tracking.source ?? [:]
            for value in values {
                if newer.contains(value.property.key), !value.property.isNested {
                    replaceByServerValue(value)
                    continue
                }
                let json = value.property.keyFound(in: members)?.value(in: members)
                acknowledge(value, answer: json, later: later)
            }
        }
    }

    private func acknowledge(_ sent: Value, answer: JSONValue?, later: [VisibleChange]) {
        let property = sent.property
        for change in later { change.confirm(sent.value, of: property, on: model) }
        var source = model.tracking.source ?? [:]
        property.writeKey(in: source).put(sent.json, into: &source)
        model.tracking.source = source
        guard let slot = PropertyVisitor.slots(of: model).first(where: { $0.property === property }) else { return }
        if let core = slot.nestedCollection {
            for change in later { change.confirm(sent.members, of: core) }
            core.acknowledge(sent, answer: answer)
        } else if sent.isSet {
            acknowledge(sent, in: slot)
        }
        let elements = slot.nestedCollection.flatMap { $0.elements(of: answer) }
        for nested in sent.nested {
            // The part of the response that is about the nested object: the response itself, or an element of an array.
            let part = elements.map { elements in nested.model.serverID.flatMap { elements[$0] } } ?? answer
            nested.acknowledge(answer: part, later: later)
        }
    }

    /// Sets a property to the server's newer value, unless it was set since the call.
    private func replaceByServerValue(_ sent: Value) {
        guard let slot = PropertyVisitor.slots(of: model).first(where: { $0.property === sent.property }),
            sent.property.encode(slot.value) == sent.json,
            let base = model.tracking.dirty.first(where: { $0.property === sent.property })
        else { return }
        model.tracking.dirty.removeAll { $0.property === sent.property }
        let newest = PropertyVisitor.Slot(property: sent.property, value: base.original.anyValue)
        for change in PropertyVisitor.assign([newest], to: model) { model.note(change) }
    }

    private func acknowledge(_ sent: Value, in slot: PropertyVisitor.Slot) {
        let property = sent.property
        let wasDirty = model.isDirty(property)
        model.tracking.dirty.removeAll { $0.property === property }
        model.tracking.repairs.removeAll { $0.key == property.key }
        // The JSON may have less precision than the value, such as that of a date.
        if property.areSame(slot.value, sent.value) || property.encode(slot.value) == sent.json { return }
        // A value that was set back to the last synced one is not dirty, although the server now has the sent value.
        let isSet = wasDirty || property.areSame(sent.current, sent.value)
        if isSet, !property.areSame(slot.value, sent.current), let original = property.original(sent.value) {
            // The value was set during the save.
            model.tracking.dirty.append(DirtyProperty(property: property, original: original))
        } else {
            let arriving = PropertyVisitor.Slot(property: property, value: sent.value)
            for change in PropertyVisitor.assign([arriving], to: model) { model.note(change) }
            model.adoptNested(sent.value, in: property)
        }
    }
}

extension CollectionCore {
    /// Returns the elements of an array by their ids; `nil` if a response is no array.
    fileprivate func elements(of answer: JSONValue?) -> [ModelID: JSONValue]? {
        guard case .array(let elements)? = answer else { return nil }
        return Dictionary(elements.compactMap { json in (try? id(of: json)).map { ($0, json) } }) { first, _ in first }
    }

    /// Makes the sent members the saved ones. New members get the ids of the response.
    fileprivate func acknowledge(_ sent: SentObject.Value, answer: JSONValue?) {
        reading {
            if sent.hasLaterMembers { applyMembers(of: sent) }
            if allModels.elementsEqual(sent.members, by: ===) { hasChangedMembers = false }
            if case .array(let elements)? = answer { assignIDs(of: elements, to: sent.nested) }
            if hasChangedMembers { syncedIDs = sent.members.map(\.modelID) }
        }
    }

    /// Sets members that have become visible now. Members that were added in the meantime stay.
    private func applyMembers(of sent: SentObject.Value) {
        let known = Set(sent.earlierMembers.map(ObjectIdentifier.init) + sent.members.map(ObjectIdentifier.init))
        let added = allModels.filter { !known.contains(ObjectIdentifier($0)) }
        try? setModels(sent.members + added)
    }

    /// Gives sent new members the ids of their elements in a response, found by their values or else by their order.
    /// Members without an element are removed, because the response has all elements that were sent.
    private func assignIDs(of elements: [JSONValue], to sent: [SentObject]) {
        var sent = sent.filter { $0.newJSON != nil && $0.model.isNew && entry(of: $0.model) != nil }
        if sent.isEmpty { return }
        var unknown = elements.filter { element in (try? id(of: element)).map { entries[$0] == nil } ?? false }
        unknown.removeAll { element in
            guard let index = sent.firstIndex(where: { $0.newJSON?.agrees(with: element) ?? false }) else {
                return false
            }
            assignID(to: sent.remove(at: index).model, from: element)
            return true
        }
        if unknown.count == sent.count { return zip(sent, unknown).forEach { assignID(to: $0.model, from: $1) } }
        confirming {
            for object in sent { entry(of: object.model).map { remove($0, reason: .replaced) } }
        }
    }

    private func assignID(to member: Model, from element: JSONValue) {
        guard let id = try? id(of: element) else { return }
        member.replaceDuplicate(id: id)
        member.setServerID(id)
    }
}

extension Model {
    /// Replaces another live instance with an id that the server has given this object. A load may have created the
    /// instance before the response to the save arrived.
    final func replaceDuplicate(id: ModelID) {
        guard id != serverID, let context, let duplicate = context.existing(type(of: self), id: id), duplicate !== self
        else { return }
        context.detach(duplicate)
        for link in duplicate.links {
            if let entry = link as? Entry { replace(entry) }
            if let child = link as? ChildLink { child.replaceChild(with: self) }
        }
    }

    /// Replaces the entry of a duplicate in its collection.
    private final func replace(_ entry: Entry) {
        guard let core = entry.owner else { return }
        core.reading {
            // The user has deleted the object before its id was known.
            if core.isDeletionQueued(self) {
                core.remove(entry, reason: .removed)
            } else {
                core.replace(entry, with: self)
            }
        }
    }

    /// Makes an owner contain the live instance instead of this copy.
    final func replace(by live: Model, in owner: Model) {
        for link in links {
            if let entry = link as? Entry, let core = entry.owner, core.owner === owner {
                core.reading { core.confirming { core.replace(entry, with: live) } }
            }
            if let child = link as? ChildLink, child.owner === owner { child.replaceChild(with: live) }
        }
    }
}
