public import Diamond
public import Foundation

extension Model {
    /// Takes over what the server says: sets the properties whose keys are present, and clears their dirty bits.
    ///
    /// `null` and values of another type become the default. Nested models and collections merge in turn; a nested object
    /// with another id becomes another model.
    ///
    /// - Throws: ``ModelError`` for JSON that is not an object, for a value that a rule rejects, and for an id that
    ///   another live model has. Nothing is written then.
    public final func merge(_ json: JSONValue) throws { try merge(json.modelObject()) }

    /// Takes over what the server says in a JSON text.
    ///
    /// - Throws: ``ModelError``, as for a value; nothing is written then.
    public final func merge(_ text: Data) throws { try merge(JSONValue(modelText: text)) }

    private func merge(_ object: [String: JSONValue]) throws {
        let newID = object[Self.idKey].flatMap(ModelID.init(json:)) ?? tracking.serverID
        try checkID(newID)
        let plan = MergePlan(object, for: self)
        if !plan.violations.isEmpty { throw ModelError.invalid(plan.violations) }
        transact(source: .server) {
            for merge in plan.nested { merge() }
            tracking.repairs.removeAll { plan.keys.contains($0.key) }
            tracking.repairs += plan.repairs
            tracking.dirty.removeAll { plan.keys.contains($0.property.key) }
            tracking.source = plan.source
            for change in PropertyVisitor.assign(plan.slots, to: self) { note(change) }
            takeServerID(newID)
        }
    }

    /// Refuses an id that another live model has.
    final func checkID(_ id: ModelID?) throws {
        guard let id, id != tracking.serverID else { return }
        if isTaken(id) { throw ModelError.duplicate(id) }
    }

    final func isTaken(_ id: ModelID) -> Bool {
        if let other = context?.existing(type(of: self), id: id), other !== self { return true }
        return links.contains { $0.holdsOther(of: id) }
    }

    /// Changes the id, in the context and in every collection.
    final func takeServerID(_ id: ModelID?) {
        guard let id, id != tracking.serverID else { return }
        let old = modelID
        tracking.serverID = id
        context?.rekey(self, from: old, to: id)
        for link in links { link.receiveID(from: old, to: id) }
    }
}

/// The effect of a merge, computed before anything is written.
struct MergePlan {
    private(set) var slots: [PropertyVisitor.Slot] = []
    private(set) var repairs: [Repair] = []
    private(set) var violations: [Violation] = []
    /// The keys of the properties that the JSON speaks of.
    private(set) var keys: Set<String> = []
    /// The merges of nested models and collections.
    private(set) var nested: [() -> Void] = []
    private(set) var source: [String: JSONValue]

    private let object: [String: JSONValue]
    private lazy var defaults: [PropertyVisitor.Slot] = []

    init(_ object: [String: JSONValue], for model: Model) {
        self.object = object
        let current = PropertyVisitor.slots(of: model)
        let paths = current.flatMap { $0.property.keys.map(\.names) }
        source = (model.tracking.source ?? [:]).merged(with: object, along: paths)
        for (index, slot) in current.enumerated() where slot.property.access != .transient {
            guard let key = slot.property.keyFound(in: object), let json = key.value(in: object) else { continue }
            keys.insert(slot.property.key)
            plan(slot, at: index, json, model)
        }
    }

    private mutating func plan(_ slot: PropertyVisitor.Slot, at index: Int, _ json: JSONValue, _ model: Model) {
        let property = slot.property
        if let core = property.nestedCollection(in: slot.value) { return planCollection(core, property, json) }
        if let child = property.nestedModel(in: slot.value), child.isMeant(by: json) {
            nested.append { try? child.merge(json) }
            return
        }
        var log = RepairLog(context: model.context)
        let value = log.reading(property.keys[0]) { log -> Any? in
            if let value = property.decode(json, &log) { return value }
            log.note(json == .null ? .null : .wrongType, found: json)
            return nil
        }
        repairs += log.repairs
        let new = value ?? Self.defaultValue(at: index, of: model)
        if let value, property.policy == .reject {
            violations += property.brokenRules(of: value).map { Violation(key: property.key, rule: $0) }
        }
        slots.append(PropertyVisitor.Slot(property: property, value: new))
    }

    private mutating func planCollection(_ core: CollectionCore, _ property: AnyProperty, _ json: JSONValue) {
        var log = RepairLog(context: core.context)
        log.readNested(property, json) { values, _ in nested.append { core.replaceAll(with: values) } }
        if case .array = json {} else { nested.append { core.replaceAll(with: []) } }
        repairs += log.repairs
    }

    /// The default of a property: the value that a new object has.
    private static func defaultValue(at index: Int, of model: Model) -> Any {
        PropertyVisitor.slots(of: type(of: model).init())[index].value
    }
}

extension Model {
    /// Whether the JSON speaks of this nested object, and not of another one in its place.
    fileprivate func isMeant(by json: JSONValue) -> Bool {
        guard case .object(let object) = json, type(of: self).concreteClass(for: object) == type(of: self) else {
            return false
        }
        let id = object[Self.idKey].flatMap(ModelID.init(json:))
        return id == nil || id == serverID || (serverID == nil && !isTaken(id ?? modelID))
    }
}

extension [String: JSONValue] {
    /// These members with the new ones in their places. Objects that properties lie within merge, others are replaced.
    func merged(with new: [String: JSONValue], along paths: [[String]]) -> [String: JSONValue] {
        var result = self
        for (name, value) in new {
            let deeper = paths.filter { $0.count > 1 && $0[0] == name }.map { Array<String>($0.dropFirst()) }
            if !deeper.isEmpty, case .object(let new) = value, case .object(let old)? = self[name] {
                result[name] = .object(old.merged(with: new, along: deeper))
            } else {
                result[name] = value
            }
        }
        return result
    }
}
