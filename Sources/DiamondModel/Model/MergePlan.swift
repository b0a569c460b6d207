import Diamond

/// The result of a merge, computed before anything is written.
struct MergePlan {
    private let model: Model
    /// The model's context, or the context of its owner.
    private let context: ModelContext?
    private let object: [String: JSONValue]
    private let newID: ModelID?
    private var slots: [PropertyVisitor.Slot] = []
    private var repairs: [Repair] = []
    /// The values that rules reject, including those of nested models.
    private(set) var violations: [Violation] = []
    /// The keys of the properties that the JSON has.
    private var keys: Set<String> = []
    /// The paths of all keys of the class.
    private let paths: [[String]]
    /// The writes of nested models and collections.
    private var nested: [() -> Void] = []
    /// The logical time (``SyncOrder``) of the response with the JSON; `nil` for JSON that the app merges. That JSON
    /// overwrites everything.
    private let answerTime: SyncTime?

    /// Plans the merge of an object into a model.
    ///
    /// - Parameter context: The context of the model's owner. A new model with an id joins it.
    init(_ json: [String: JSONValue], into model: Model, staging: Staging, context: ModelContext? = nil) {
        self.model = model
        self.context = model.context ?? context
        let current = PropertyVisitor.slots(of: model)
        paths = current.flatMap { $0.property.keys.map(\.names) }
        newID = json[type(of: model).idKey].flatMap(ModelID.init(json:))
        answerTime = self.context?.answerTime
        var object = newID == nil && !model.isNew ? json.filter { $0.key != type(of: model).idKey } : json
        if let answerTime {
            model.tracking.removeNewer(than: answerTime, from: &object, properties: current.map(\.property))
        }
        self.object = object
        if let newID { staging.claim(newID, for: model, in: self.context) }
        nested = staging.collect { plan(current, staging: staging) }
        noteInvalidID(in: json)
    }

    private mutating func plan(_ current: [PropertyVisitor.Slot], staging: Staging) {
        for (index, slot) in current.enumerated() where slot.property.access != .transient {
            guard let key = slot.property.keyFound(in: object), let json = key.value(in: object) else { continue }
            keys.insert(slot.property.key)
            plan(slot, at: index, json: json, staging: staging)
        }
    }

    /// Adds a repair for an invalid id. The model keeps its id.
    private mutating func noteInvalidID(in object: [String: JSONValue]) {
        let key = type(of: model).idKey
        guard newID == nil, !model.isNew, let found = object[key] else { return }
        repairs.append(Repair(path: key, reason: .init(refusing: found), found: found, key: key))
    }

    private mutating func plan(_ slot: PropertyVisitor.Slot, at index: Int, json: JSONValue, staging: Staging) {
        let property = slot.property
        if let core = property.nestedCollection(in: slot.value) {
            return plan(core, of: property, json: json, staging: staging)
        }
        var log = RepairLog(context: context, staging: staging)
        let value = log.reading(property.keys[0]) { log -> Any? in
            if let child = property.nestedModel(in: slot.value), child.isSubject(of: json, log: log) {
                return log.merge(.value(json), into: child) ? child : nil
            }
            return log.decode(property, from: json)
        }
        repairs += log.repairs
        violations += staging.takeViolations()
        let new = value ?? Self.defaultValue(at: index, of: model)
        violations += property.rejections(of: new, isMissing: value == nil)
        slots.append(PropertyVisitor.Slot(property: property, value: new))
    }

    private mutating func plan(
        _ core: CollectionCore, of property: AnyProperty, json: JSONValue, staging: Staging
    ) {
        var log = RepairLog(context: context, staging: staging)
        let values = log.elements(of: property, in: .value(json)) ?? []
        repairs += log.repairs
        staging.append { [model] in model.load(values, into: core, of: property) }
    }

    /// Returns the default of a property: its value in a new object.
    private static func defaultValue(at index: Int, of model: Model) -> Any {
        PropertyVisitor.slots(of: type(of: model).init())[index].value
    }

    // MARK: Writing

    /// Writes everything, in one transaction of the model.
    func apply() {
        model.transact(source: .server, isWaiting: !hasOnlyEqualValues) {
            // The id comes first, so that nested objects with this id resolve to this model.
            if let newID {
                if model.isNew, model.context == nil { context?.adopt(model) }
                model.setServerID(newID)
            }
            model.tracking.repairs.removeAll { repair in isSuperseded(repair.key) }
            model.tracking.repairs += repairs
            for write in nested { write() }
            let edits = answerTime == nil ? [] : model.edits(of: keys)
            model.tracking.dirty.removeAll { keys.contains($0.property.key) }
            model.tracking.source = (model.tracking.source ?? [:]).merged(with: object, along: paths)
            for change in PropertyVisitor.assign(slots, to: model) { model.note(change) }
            model.reapply(edits)
            if let answerTime { model.noteAnswer(at: answerTime, for: keys) }
            if let context, model.hasQueuedSaves {
                let date = context.answerDate ?? context.now()
                for key in keys { model.syncing.mergeTimes[key] = date }
            }
        }
    }

    /// Whether all values of the model stay. Then its collections, which may be very many, need not wait.
    private var hasOnlyEqualValues: Bool {
        guard model.tracking.links.count > 1, nested.isEmpty, newID == nil || newID == model.serverID else {
            return false
        }
        var rest = slots[...]
        for slot in PropertyVisitor.slots(of: model) {
            guard let next = rest.first, next.property === slot.property else { continue }
            guard slot.property.areSame(slot.value, next.value) else { return false }
            rest.removeFirst()
        }
        return rest.isEmpty
    }

    /// Returns whether this merge replaces the earlier repairs of a property.
    private func isSuperseded(_ key: String) -> Bool { keys.contains(key) || repairs.contains { $0.key == key } }
}

extension AnyProperty {
    /// Returns the broken rules of a value, if the property rejects values that break rules.
    fileprivate func rejections(of value: Any, isMissing: Bool) -> [Violation] {
        guard policy == .reject else { return [] }
        let broken = (isMissing && isRequired ? ["required"] : []) + brokenRules(of: value)
        return broken.map(violation)
    }
}

extension RepairLog {
    /// Stages the merge of an object into a model, or records the values that its rules reject.
    ///
    /// - Returns: `false` if the JSON is not an object, or if there is no staging.
    mutating func merge(_ json: JSONItem, into model: Model) -> Bool {
        guard let staging, let members = ObjectMembers(json) else { return false }
        if model.hasMerged(members) { return true }
        staging.attempt {
            let plan = MergePlan(members.object, into: model, staging: staging, context: context)
            note(plan.violations)
            if plan.violations.isEmpty { staging.append { plan.apply() } }
            return plan.violations.isEmpty
        }
        return true
    }
}

extension Model {
    /// Returns whether the JSON describes this nested object, and not another one that replaces it.
    fileprivate func isSubject(of json: JSONValue, log: RepairLog) -> Bool {
        guard case .object(let object) = json,
            type(of: self).concreteClass(for: ObjectMembers(object)) == type(of: self)
        else {
            return false
        }
        guard let id = object[Self.idKey].flatMap(ModelID.init(json:)), id != serverID else { return true }
        guard isNew, !isTaken(id) else { return false }
        return log.staging?.model(type(of: self), id: id, in: context ?? log.context).map { $0 === self } ?? true
    }
}

extension [String: JSONValue] {
    /// Returns these members updated with new ones. Objects on the path of a property are merged, other values
    /// replaced.
    fileprivate func merged(with new: [String: JSONValue], along paths: [[String]]) -> [String: JSONValue] {
        var result = self
        for (name, value) in new {
            // A dictionary does not hold two names that only look the same: that of a property stays.
            let other = index(forKey: name).map { self[$0].key } ?? name
            if !other.isExactly(name), paths.contains(where: { $0[0].isExactly(other) }) { continue }
            let deeper = paths.filter { $0.count > 1 && $0[0] == name }.map { Array<String>($0.dropFirst()) }
            if !deeper.isEmpty, case .object(let new) = value, case .object(let old)? = self.value(named: name) {
                result.set(.object(old.merged(with: new, along: deeper)), named: name)
            } else {
                result.set(value, named: name)
            }
        }
        return result
    }
}
