public import Diamond

extension Model {
    /// The JSON of the property with a key, or `nil` if there is none.
    ///
    /// Assignments only change properties that the user may set. `nil` and `null` set the default. JSON that
    /// ``set(_:to:)`` refuses is ignored, and added to ``rejections`` if the property exists.
    public final subscript(key: String) -> JSONValue? {
        get {
            slot(key).map { slot in
                slot.property.access(on: self)
                return slot.property.encode(slot.value)
            }
        }
        set { _ = try? set(key, to: newValue ?? .null) }
    }

    /// Sets a property by its key; `null` sets the default.
    ///
    /// - Throws: ``ModelError``: `notSettable` for a key that the user may not set, for JSON of the wrong type, and for
    ///   the removal of an id; `invalid` for a value that a rule rejects; `duplicateID`.
    public final func set(_ key: String, to json: JSONValue) throws {
        try replace([key: json])
    }

    /// Sets a property to its default.
    ///
    /// - Throws: ``ModelError`` if the user may not set the property.
    public final func remove(_ key: String) throws { try replace([key: .null]) }

    /// Restores the defaults of all properties that the user may set, except the id. A property whose rules reject its
    /// default keeps its value and is added to ``rejections``.
    public final func removeAll() {
        let keys = PropertyVisitor.slots(of: self).filter(\.isSettable).map(\.property.key)
        transact(source: .user) {
            for key in keys where key != Self.idKey { self[key] = nil }
        }
    }

    /// Sets several properties by their keys, in one transaction; `null` sets the default.
    ///
    /// - Throws: ``ModelError``. Nothing is written then.
    public final func replace(_ values: [String: JSONValue]) throws {
        let staging = Staging()
        let slots = try values.map { try settableSlot($0.key, json: $0.value, staging: staging) }
        transact(source: .user) {
            staging.commit()
            for slot in slots { reject(slot.property, for: []) }
            assign(slots)
        }
    }

    /// Sets values as the user does, without their rules, and returns the changes.
    @discardableResult
    final func assign(_ slots: [PropertyVisitor.Slot]) -> [PropertyChange] {
        transact(source: .user) {
            let changes = PropertyVisitor.assign(slots, to: self)
            for change in changes {
                markDirty(change)
                note(change)
                if change.property.key == Self.idKey { setServerID(ModelID(json: change.property.encode(change.new))) }
            }
            return changes
        }
    }

    /// The JSON of all properties that the user may set, by key. Nested objects also have their ids.
    ///
    /// A model that contains itself, directly or not, is written as its id there.
    public final var snapshot: [String: JSONValue] {
        let slots = PropertyVisitor.slots(of: self).filter(\.isSettable)
        track(slots)
        return visiting { Dictionary(slots.map { ($0.property.key, $0.snapshot) }) { first, _ in first } }
    }

    /// Throws if the JSON of a nested object has members that only the server may set, other than its id.
    private static func refuseServerOwned(_ json: JSONValue, at key: String) throws {
        guard case .object(let object) = json else { return }
        let type = concreteClass(for: ObjectMembers(object))
        for slot in PropertyVisitor.slots(of: type.init()) {
            let property = slot.property
            let path = "\(key).\(property.key)"
            guard property.key != type.idKey, let value = property.keyFound(in: object)?.value(in: object) else {
                continue
            }
            if property.access == .server { throw ModelError.notSettable(path) }
            let nested = property.nestedModel(in: slot.value).map { Swift.type(of: $0) } ?? property.nestedModelType
            try nested?.refuseServerOwned(value, at: path)
        }
    }

    private func slot(_ key: String) -> PropertyVisitor.Slot? {
        PropertyVisitor.slots(of: self).first { $0.property.key == key }
    }

    private func settableSlot(
        _ key: String, json: JSONValue, staging: Staging
    ) throws -> PropertyVisitor.Slot {
        guard let slot = slot(key), slot.isSettable else {
            throw ModelError.notSettable(key)
        }
        let nested = slot.property.nestedModel(in: slot.value).map { type(of: $0) } ?? slot.property.nestedModelType
        try nested?.refuseServerOwned(json, at: key)
        if key == Self.idKey, json == .null, !isNew {
            reject(slot.property, for: ["id"])
            throw ModelError(.notSettable, "the id \(modelID) cannot be removed: set another id, or create a new model")
        }
        let value = try value(of: slot.property, from: json, staging: staging)
        let encoded = slot.property.encode(value)
        let broken =
            (slot.property.policy == .reject ? slot.property.brokenRules(of: value) : [])
            + brokenIDRules(of: slot.property, json: encoded)
        reject(slot.property, for: broken)
        if broken == ["unique"], let id = ModelID(json: encoded) { throw ModelError.duplicate(id) }
        if !broken.isEmpty { throw ModelError.invalid(broken.map(slot.property.violation)) }
        return PropertyVisitor.Slot(property: slot.property, value: value)
    }

    private func value(of property: AnyProperty, from json: JSONValue, staging: Staging) throws -> Any {
        var log = RepairLog(context: context, staging: staging)
        let value = log.reading(property.keys[0]) { $0.decode(property, from: json) }
        let violations = staging.takeViolations()
        if !violations.isEmpty { throw ModelError.invalid(violations) }
        if let value, log.repairs.isEmpty { return value }
        guard json == .null, let initial = initialValue(of: property) else {
            let reason = log.repairs.first?.reason.refusal ?? "cannot be \(json.kindName)"
            reject(property, because: reason)
            throw ModelError(
                .notSettable, "\(property.key) cannot be set to \(json.kindName), it \(reason): pass JSON of its type")
        }
        return initial
    }

    private func initialValue(of property: AnyProperty) -> Any? {
        PropertyVisitor.slots(of: Self.init()).first { $0.property === property }?.value
    }

    /// Sets the dirty bit of a property of any type.
    private func markDirty(_ change: PropertyChange) {
        tracking.repairs.removeAll { $0.key == change.property.key }
        if let index = tracking.dirty.firstIndex(where: { $0.property === change.property }) {
            let original = tracking.dirty[index].original.anyValue
            if change.property.areSame(original, change.new) { tracking.dirty.remove(at: index) }
        } else if let original = change.property.original(change.old) {
            tracking.dirty.append(DirtyProperty(property: change.property, original: original))
        }
    }
}

extension PropertyVisitor.Slot {
    /// Whether the user may set the property.
    fileprivate var isSettable: Bool {
        property.access == .user && property.nestedCollection(in: value) == nil
    }

    fileprivate var snapshot: JSONValue {
        guard let child = property.nestedModel(in: value), !child.tracking.isVisiting else {
            return property.encode(value)
        }
        var object = child.snapshot
        if let id = child.serverID { object[type(of: child).idKey] = id.json }
        return .object(object)
    }
}

extension ModelError {
    fileprivate static func notSettable(_ key: String) -> ModelError {
        ModelError(.notSettable, "\(key) is not a property that the user may set: merge the server's JSON")
    }
}
