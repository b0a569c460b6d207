public import Diamond
public import Foundation

extension Model {
    /// The object as JSON.
    ///
    /// Unknown members, and properties that were not set since they were read, are written as they were read. So the
    /// default of a repaired property never overwrites the server's value.
    public final var json: JSONValue {
        // A model that contains itself, directly or not, is written as its id there.
        tracking.isVisiting ? ownReference : visiting { .object(object()) }
    }

    /// The object as JSON text, in canonical form.
    ///
    /// - Throws: ``ModelError`` for a number that is not finite.
    public final func jsonText() throws -> Data { try PropertyVisitor.text { $0.write(self) } }

    /// The JSON in the place of a model that contains itself.
    final var ownReference: JSONValue { tracking.serverID?.json ?? .null }

    /// The properties that were set since the last sync, as JSON for the body of a PATCH.
    ///
    /// A nested model is written whole, unless the class overrides ``patchesNestedModels``. A collection is written
    /// whole.
    public final var changedJSON: JSONValue {
        guard !tracking.isVisiting else { return json }
        var object: [String: JSONValue] = [:]
        let slots = PropertyVisitor.slots(of: self)
        track(slots)
        visiting {
            let source = tracking.source
            for slot in slots where isChanged(slot) {
                slot.property.writeKey(in: source).put(changedJSON(of: slot), into: &object)
            }
        }
        return .object(object)
    }

    /// Runs `body`, in which objects that refer back to this one write its id.
    final func visiting<Result>(_ body: () throws -> Result) rethrows -> Result {
        let outer = tracking.isVisiting
        tracking.isVisiting = true
        defer { tracking.isVisiting = outer }
        return try body()
    }

    private func changedJSON(of slot: PropertyVisitor.Slot) -> JSONValue {
        guard Self.patchesNestedModels, let child = slot.nestedModel else {
            return slot.property.encode(slot.value)
        }
        if !isDirty(slot.property) { return child.changedJSON }
        // Another model replaces the one that the server has.
        let source = tracking.source ?? [:]
        return (slot.property.writeKey(in: source).value(in: source) ?? .null).mergePatch(to: child.json)
    }

    /// The JSON to create the object on the server: the properties that the user may set.
    final var creationJSON: JSONValue {
        var object: [String: JSONValue] = [:]
        visiting {
            for slot in PropertyVisitor.slots(of: self) where slot.property.access == .user {
                slot.property.writeKey(in: nil).put(slot.property.encode(slot.value), into: &object)
            }
        }
        return .object(object)
    }

    /// Returns the members of ``json``.
    final func object() -> [String: JSONValue] {
        let source = tracking.source
        var object = source ?? [:]
        let slots = PropertyVisitor.slots(of: self)
        track(slots)
        for slot in slots where isWritten(slot) {
            slot.property.writeKey(in: source).put(slot.property.encode(slot.value), into: &object)
        }
        return object
    }

    /// Returns whether the JSON has the current value of a property. Otherwise it has the value as it was read.
    final func isWritten(_ slot: PropertyVisitor.Slot) -> Bool {
        isWritten(slot.property, child: slot.nestedModel, collection: slot.nestedCollection)
    }

    /// - Parameters:
    ///   - child: The nested model of the property.
    ///   - collection: The nested collection of the property.
    final func isWritten(_ property: AnyProperty, child: Model?, collection: CollectionCore?) -> Bool {
        if property.access == .transient { return false }
        let isNew = !tracking.hasSource && property.access == .user
        return isNew || hasOwnState(property, child: child, collection: collection)
            || isChanged(property, child: child, collection: collection)
    }

    /// Returns whether a nested model or collection may have newer state than the owner's JSON: it is synced
    /// separately.
    private func hasOwnState(_ property: AnyProperty, child: Model?, collection: CollectionCore?) -> Bool {
        if let child { return child.tracking.hasSource }
        guard let collection else { return false }
        if collection.hasContent { return true }
        guard let source = tracking.source, case .array? = property.writeKey(in: source).value(in: source) else {
            return false
        }
        return true
    }

    /// Returns whether a property, or the nested model or collection in it, was set since the last sync. The caller
    /// tracks the properties.
    final func isChanged(_ slot: PropertyVisitor.Slot) -> Bool {
        if slot.property.access == .transient { return false }
        return isChanged(slot.property, child: slot.nestedModel, collection: slot.nestedCollection)
    }

    private func isChanged(_ property: AnyProperty, child: Model?, collection: CollectionCore?) -> Bool {
        // A nested object that refers back to this one does not change with it.
        lazy var visited: Set<ObjectIdentifier> = [ObjectIdentifier(self)]
        if let collection { return collection.isDirty(visited: &visited) }
        if let child, !child.tracking.isVisiting, child.isDirty(visited: &visited) { return true }
        return tracking.isDirty(property)
    }

    /// Marks the current values as synced with the server.
    public final func markSynced() {
        guard !tracking.isVisiting, case .object(let object) = json else { return }
        // One transaction, so that observers are called once, after all nested objects are marked.
        transact(source: .server) {
            tracking.isVisiting = true
            defer { tracking.isVisiting = false }
            for slot in PropertyVisitor.slots(of: self) where slot.property.isNested {
                slot.property.nestedModel(in: slot.value)?.markSynced()
                slot.property.nestedCollection(in: slot.value)?.markSynced()
            }
            tracking.source = object
            tracking.dirty.removeAll()
        }
    }
}

extension AnyProperty {
    /// Returns the key to write: the key that the value was read from, or else the first one.
    func writeKey(in source: [String: JSONValue]?) -> PropertyKey { source.flatMap(keyFound) ?? keys[0] }
}

extension Model: Codable {
    /// Encodes an archive: the JSON of the model and, if it is new or has unsaved changes, a member `diamond:unsaved`
    /// with the local id, the set properties and the JSON of the last sync, also of nested models.
    ///
    /// The decoded object has this state again, and shows its calls that wait in the queue as soon as it is registered
    /// in a context. Objects in unknown members that cannot be read are left out, and numbers of
    /// more than 38 digits are rounded to the nearest double. ``jsonText()`` has both as they were read, and no member
    /// for the state.
    public final func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(archive().encodable)
    }
}
