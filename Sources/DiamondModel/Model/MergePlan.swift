import Diamond

/// The effect of a merge, computed before anything is written.
struct MergePlan {
    private let model: Model
    /// The model's context, or else that of its owner.
    private let context: ModelContext?
    private let object: [String: JSONValue]
    private let newID: ModelID?
    private var slots: [PropertyVisitor.Slot] = []
    private var repairs: [Repair] = []
    /// The values that rules reject, also in nested models.
    private(set) var violations: [Violation] = []
    /// The keys of the properties with a member in the JSON.
    private var keys: Set<String> = []
    /// The paths of all keys of the class.
    private let paths: [[String]]
    /// The writes of nested models and collections.
    private var nested: [() -> Void] = []
    /// The time of the answer that the JSON is of; `nil` for JSON that the app merges, which overwrites everything.
    private let answerTime: Int?

    /// Plans the merge of an object into a model.
    ///
    /// - Parameter context: that of the model's owner, which a new model is of with its id.
    init(_ json: [String: JSONValue], into model: Model, _ staging: Staging, context: ModelContext? = nil) {
        self.model = model
        self.context = model.context ?? context
        let current = PropertyVisitor.slots(of: model)
        paths = current.flatMap { $0.property.keys.map(\.names) }
        newID = json[type(of: model).idKey].flatMap(ModelID.init(json:))
        answerTime = self.context?.answerTime
        var object = newID == nil && !model.isNew ? json.filter { $0.key != type(of: model).idKey } : json
        if let answerTime { model.tracking.removeNewer(than: answerTime, from: &object, current.map(\.property)) }
        self.object = object
        if let newID { staging.claim(newID, for: model, in: self.context) }
        nested = staging.collect { plan(current, staging) }
        noteMissingID(in: json)
    }

    private mutating func plan(_ current: [PropertyVisitor.Slot], _ staging: Staging) {
        for (index, slot) in current.enumerated() where slot.property.access != .transient {
            guard let key = slot.property.keyFound(in: object), let json = key.value(in: object) else { continue }
            keys.insert(slot.property.key)
            plan(slot, at: index, json, staging)
        }
    }

    /// Notes an id that cannot be one: the model keeps the id that it has.
    private mutating func noteMissingID(in object: [String: JSONValue]) {
        let key = type(of: model).idKey
        guard newID == nil, !model.isNew, let found = object[key] else { return }
        repairs.append(Repair(place: key, reason: found == .null ? .null : .wrongType, found: found, key: key))
    }

    private mutating func plan(_ slot: PropertyVisitor.Slot, at index: Int, _ json: JSONValue, _ staging: Staging) {
        let property = slot.property
        if let core = property.nestedCollection(in: slot.value) { return plan(core, property, json, staging) }
        var log = RepairLog(context: context, staging: staging)
        let value = log.reading(property.keys[0]) { log -> Any? in
            if let child = property.nestedModel(in: slot.value), child.isMeant(by: json, log) {
                return log.merge(json, into: child) ? child : nil
            }
            if let value = property.decode(json, &log) { return value }
            log.note(json == .null ? .null : .wrongType, found: json)
            return nil
        }
        repairs += log.repairs
        violations += staging.takeViolations()
        let new = value ?? Self.defaultValue(at: index, of: model)
        violations += property.rejections(of: new, isMissing: value == nil)
        slots.append(PropertyVisitor.Slot(property: property, value: new))
    }

    private mutating func plan(
        _ core: CollectionCore, _ property: AnyProperty, _ json: JSONValue, _ staging: Staging
    ) {
        var log = RepairLog(context: context, staging: staging)
        let values = log.elements(of: property, json) ?? []
        repairs += log.repairs
        staging.append { [model] in model.load(values, into: core, of: property) }
    }

    /// The default of a property: the value that a new object has.
    private static func defaultValue(at index: Int, of model: Model) -> Any {
        PropertyVisitor.slots(of: type(of: model).init())[index].value
    }

    // MARK: Writing

    /// Writes everything, in one transaction of the model.
    func apply() {
        model.transact(source: .server) {
            // First, so that nested objects with this id are this model.
            if let newID {
                if model.isNew, model.context == nil { context?.adopt(model) }
                model.takeServerID(newID)
            }
            model.tracking.repairs.removeAll { repair in isRepaired(repair.key) }
            model.tracking.repairs += repairs
            for write in nested { write() }
            let edits = answerTime == nil ? [] : model.edits(of: keys)
            model.tracking.dirty.removeAll { keys.contains($0.property.key) }
            model.tracking.source = (model.tracking.source ?? [:]).merged(with: object, along: paths)
            for change in PropertyVisitor.assign(slots, to: model) { model.note(change) }
            model.put(back: edits)
            if let answerTime { model.noteAnswer(answerTime, keys) }
            if let context, model.hasQueuedSaves { model.syncing.mergedAt = context.now() }
        }
    }

    private func isRepaired(_ key: String) -> Bool { keys.contains(key) || repairs.contains { $0.key == key } }
}

extension AnyProperty {
    /// The rules that keep a value out of a property that rejects values.
    fileprivate func rejections(of value: Any, isMissing: Bool) -> [Violation] {
        guard policy == .reject else { return [] }
        let broken = (isMissing && isRequired ? ["required"] : []) + brokenRules(of: value)
        return broken.map { Violation(key: key, rule: $0) }
    }
}

extension RepairLog {
    /// Stages the merge of an object into a model, or notes the values that its rules reject.
    ///
    /// - Returns: `false` for JSON that is no object.
    mutating func merge(_ json: JSONValue, into model: Model) -> Bool {
        guard let staging, case .object(let object) = json else { return false }
        staging.attempt {
            let plan = MergePlan(object, into: model, staging, context: context)
            note(plan.violations)
            if plan.violations.isEmpty { staging.append { plan.apply() } }
            return plan.violations.isEmpty
        }
        return true
    }
}

extension Model {
    /// Whether the JSON is of this nested object, and not of another one in its place.
    fileprivate func isMeant(by json: JSONValue, _ log: RepairLog) -> Bool {
        guard case .object(let object) = json, type(of: self).concreteClass(for: object) == type(of: self) else {
            return false
        }
        guard let id = object[Self.idKey].flatMap(ModelID.init(json:)), id != serverID else { return true }
        guard isNew, !isTaken(id) else { return false }
        return log.staging?.model(type(of: self), id, in: context ?? log.context).map { $0 === self } ?? true
    }
}

extension [String: JSONValue] {
    /// These members with the new ones in their places. Objects that properties lie within merge, others are replaced.
    fileprivate func merged(with new: [String: JSONValue], along paths: [[String]]) -> [String: JSONValue] {
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
