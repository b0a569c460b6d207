import Diamond

/// The Codable form of an object: its JSON and, if it has unsaved state, one more member with that state.
extension Model {
    /// The name of the member with the unsaved state.
    private static var stateName: String { "diamond:unsaved" }

    /// The members of the unsaved state.
    private enum StateKey {
        /// The JSON of the last sync; missing for an object that was never synced.
        static let base = "base"
        /// The keys of the properties that were set since.
        static let dirty = "dirty"
        static let id = "id"
        static let localID = "localID"
        /// The archives of nested models, and of the members of nested collections, by the keys of their properties.
        static let nested = "nested"
        /// The keys of the nested collections whose members have changed.
        static let changed = "changed"
        /// The archives of deleted members whose deletions were not sent, by the keys of the collections.
        static let deleted = "deleted"
    }

    /// Returns the object as JSON, with its unsaved state.
    ///
    /// - Parameter isMember: Whether the object is in a collection, where it needs an id.
    final func archive(isMember: Bool = false) -> JSONValue {
        guard !tracking.isVisiting, case .object(var object) = json else { return json }
        let slots = nestedSlots.filter(isWritten)
        tracking.isVisiting = true
        defer { tracking.isVisiting = false }
        var nested: [String: JSONValue] = [:]
        var deleted: [String: JSONValue] = [:]
        for slot in slots {
            nested[slot.property.key] = archive(of: slot)
            let archives = slot.nestedCollection?.deletedArchives ?? []
            if !archives.isEmpty { deleted[slot.property.key] = .array(archives) }
        }
        let dirty = tracking.dirty.map(\.property).filter { $0.access != .transient }.map(\.key)
        // A member of this name that the server has sent must not be read as state.
        let isNamed = (serverID != nil || !isMember) && object[Self.stateName] == nil
        if isNamed, tracking.hasSource, dirty.isEmpty, nested.isEmpty, deleted.isEmpty { return .object(object) }
        let changed = slots.filter { $0.nestedCollection?.hasChangedMembers ?? false }.map(\.property.key)
        var state: [String: JSONValue] = [
            StateKey.dirty: dirty.json, StateKey.changed: changed.json, StateKey.nested: .object(nested),
        ]
        if !deleted.isEmpty { state[StateKey.deleted] = .object(deleted) }
        state[StateKey.base] = tracking.source.map(JSONValue.object)
        state[StateKey.id] = serverID?.json
        state[StateKey.localID] = .string(localID.description)
        object[Self.stateName] = .object(state)
        return .object(object)
    }

    /// Returns the archive of a nested model or collection; `nil` if its JSON is enough.
    private func archive(of slot: PropertyVisitor.Slot) -> JSONValue? {
        let (json, isChanged): (JSONValue, Bool)
        if let child = slot.nestedModel {
            json = child.archive()
            isChanged = isDirty(slot.property)
        } else if let core = slot.nestedCollection {
            json = .array(core.archives)
            isChanged = core.hasChangedMembers
        } else {
            return nil
        }
        // A conditional expression would take `nil` for the JSON value `null`.
        if isChanged || json.hasUnsavedState(of: Self.stateName) { return json }
        return nil
    }

    /// Returns a new object with the state of an archive, outside every context.
    static func unarchived(from json: JSONValue) throws -> Self {
        let model = try instance(for: ObjectMembers(json.modelObject()))
        try model.start(withArchive: json)
        return model
    }

    /// Reads the values and the unsaved state of a new object.
    final func start(withArchive json: JSONValue) throws {
        var object = try json.modelObject()
        guard case .object(let state)? = object.removeValue(forKey: Self.stateName) else {
            return try start(with: ObjectMembers(object))
        }
        let base = try state[StateKey.base]?.modelObject()
        try start(with: ObjectMembers(base ?? [:]))
        if base == nil { tracking.repairs = [] }
        tracking.source = base
        tracking.serverID = state[StateKey.id].flatMap(ModelID.init(json:))
        tracking.localID = state[StateKey.localID].flatMap(String.init(json:)).flatMap(ModelID.init(local:))
        restoreValues(from: object, state)
    }

    private func restoreValues(from object: [String: JSONValue], _ state: [String: JSONValue]) {
        let dirty = state[StateKey.dirty].flatMap([String].init(json:)) ?? []
        let changed = state[StateKey.changed].flatMap([String].init(json:)) ?? []
        let nested = state[StateKey.nested].flatMap([String: JSONValue].init(json:)) ?? [:]
        let deleted = state[StateKey.deleted].flatMap([String: JSONValue].init(json:)) ?? [:]
        var values: [PropertyVisitor.Slot] = []
        var originals: [String: DirtyProperty] = [:]
        for slot in PropertyVisitor.slots(of: self) where slot.property.access != .transient {
            let property = slot.property
            if let core = slot.nestedCollection {
                if case .array(let archives)? = deleted[property.key] { core.restoreDeleted(archives) }
                let json = nested[property.key] ?? ownJSON(of: property, in: object)
                guard case .array(let archives)? = json else { continue }
                core.restore(archives, hasChangedMembers: changed.contains(property.key))
                continue
            }
            let isDirty = dirty.contains(property.key)
            let isOwn = isDirty || (!tracking.hasSource && property.access == .user)
            guard let value = value(of: property, isOwn: isOwn, in: object, nested[property.key]) else { continue }
            values.append(PropertyVisitor.Slot(property: property, value: value))
            guard isDirty, let original = property.original(slot.value) else { continue }
            originals[property.key] = DirtyProperty(property: property, original: original)
        }
        PropertyVisitor.fill(self, with: values)
        tracking.dirty = ContiguousArray(dirty.compactMap { originals[$0] })
        tracking.repairs.removeAll { dirty.contains($0.key) }
    }

    /// Returns the archived JSON of a nested collection that was never synced, and has no unsaved state of its own.
    private func ownJSON(of property: AnyProperty, in object: [String: JSONValue]) -> JSONValue? {
        guard !tracking.hasSource, property.access == .user else { return nil }
        return property.keyFound(in: object)?.value(in: object)
    }

    /// Returns the archived value of a property; `nil` for the value of the last sync.
    ///
    /// - Parameter isOwn: Whether the value was set since, or never synced.
    private func value(
        of property: AnyProperty, isOwn: Bool, in object: [String: JSONValue], _ archive: JSONValue?
    ) -> Any? {
        if let archive { return try? property.nestedModelType?.unarchived(from: archive) }
        guard isOwn, let json = property.keyFound(in: object)?.value(in: object) else { return nil }
        var log = RepairLog()
        return property.decode(json, repairs: &log)
    }
}

extension JSONValue {
    /// Whether the archive of a model, or one of those of a collection, has unsaved state.
    fileprivate func hasUnsavedState(of name: String) -> Bool {
        switch self {
        case .object(let object): object[name] != nil
        case .array(let elements): elements.contains { $0.hasUnsavedState(of: name) }
        default: false
        }
    }
}

extension CollectionCore {
    /// The models with their unsaved state, in insertion order, and the rejected elements.
    var archives: [JSONValue] { values { $0.archive(isMember: true) } }

    /// Replaces the content with archived models.
    func restore(_ archives: [JSONValue], hasChangedMembers: Bool) {
        transaction {
            rejected = []
            var models: [ModelID: Model] = [:]
            var order: [Model] = []
            for (index, json) in archives.enumerated() {
                do {
                    let model = try type.unarchived(from: json)
                    if model.tracking.localID == nil { _ = try id(of: json) }
                    let id = model.untrackedID
                    guard models.updateValue(model, forKey: id) == nil else { throw ModelError.duplicate(id) }
                    order.append(model)
                } catch {
                    reject(json, at: index, because: error)
                }
            }
            replaceMembers(order)
            self.hasChangedMembers = hasChangedMembers
            syncedIDs = nil
        }
    }
}
