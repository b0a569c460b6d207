import Diamond

/// The values of an object that a call has sent, with those of its nested objects.
final class SentObject {
    /// A sent value.
    struct Value {
        let property: AnyProperty
        let value: Any
        let json: JSONValue
        /// The object's value when the request was created. If the change becomes visible later, it is the old value.
        let current: Any
        /// The members of a nested collection when the request was created.
        var members: [Model] = []
        /// The members that the object's own collection had then.
        var earlierMembers: [Model] = []
        /// Whether the property itself was set. Otherwise only its nested objects were changed.
        var isSet = true
        /// Whether members were added, removed or moved by a change that becomes visible later.
        var hasLaterMembers = false
        /// The nested model, or the members of a nested collection.
        var nested: [SentObject] = []
    }

    /// The object, not a copy with changes that become visible later.
    let model: Model
    /// The JSON of an object without an id.
    let newJSON: JSONValue?
    private(set) var values: [Value] = []

    /// Takes the values of an object.
    ///
    /// - Parameters:
    ///   - subject: The object with the changes.
    ///   - isWhole: Whether all properties are sent, instead of those that were set.
    ///   - originals: The objects that the subject and its nested objects stand for.
    convenience init(_ subject: Model, isWhole: Bool, originals: Originals) {
        var visited: Set<ObjectIdentifier> = [ObjectIdentifier(subject)]
        self.init(subject, isWhole: isWhole, originals: originals, visited: &visited)
    }

    private init(_ subject: Model, isWhole: Bool, originals: Originals, visited: inout Set<ObjectIdentifier>) {
        model = originals[subject]
        newJSON = subject.serverID == nil ? .some(subject.json) : .none
        let wasVisiting = subject.tracking.isVisiting
        subject.tracking.isVisiting = true
        defer { subject.tracking.isVisiting = wasVisiting }
        for (sent, own) in zip(PropertyVisitor.slots(of: subject), PropertyVisitor.slots(of: model)) {
            guard isWhole ? sent.property.access == .user : subject.isChanged(sent) else { continue }
            var value = Value(
                property: sent.property, value: sent.nestedModel.map { originals[$0] } ?? sent.value,
                json: sent.property.encode(sent.value), current: own.value)
            if sent.property.isNested {
                value.isSet = subject.isDirty(sent.property)
                value.members = sent.nestedCollection?.allModels.map { originals[$0] } ?? []
                value.earlierMembers = own.nestedCollection?.allModels ?? []
                value.hasLaterMembers = subject !== model && sent.nestedCollection?.hasChangedMembers == true
                for (_, nested) in sent.nestedModels where visited.insert(ObjectIdentifier(nested)).inserted {
                    let isWhole = !nested.tracking.hasSource
                    let object = SentObject(nested, isWhole: isWhole, originals: originals, visited: &visited)
                    if object.newJSON != nil || !object.values.isEmpty { value.nested.append(object) }
                }
            }
            values.append(value)
        }
    }

    /// Takes the values of an object that were sent as JSON. A value that is not an unsaved change has been replaced by
    /// the server's value since, and is left out.
    init(queued sent: [String: JSONValue], of model: Model, isNew: Bool) {
        self.model = model
        newJSON = model.isNew ? .some(.object(sent)) : .none
        for slot in PropertyVisitor.slots(of: model) where slot.property.access == .user {
            let property = slot.property
            guard let json = property.keyFound(in: sent)?.value(in: sent) else { continue }
            let isCurrent = property.encode(slot.value) == json
            guard isNew || isCurrent || model.isChanged(slot) else { continue }
            if property.isNested, json != .null || slot.nestedModel != nil {
                values.append(Self.nestedValue(of: slot, queued: json, isCurrent: isCurrent))
                continue
            }
            var log = RepairLog(context: nil, staging: nil)
            guard let value = property.decode(json, repairs: &log) else { continue }
            values.append(Value(property: property, value: value, json: json, current: value))
        }
    }

    /// Returns the value of a nested property. It cannot be decoded: only its JSON is compared.
    private static func nestedValue(of slot: PropertyVisitor.Slot, queued json: JSONValue, isCurrent: Bool) -> Value {
        var value = Value(property: slot.property, value: slot.value, json: json, current: slot.value)
        value.isSet = isCurrent
        if let child = slot.nestedModel, case .object(let object) = json {
            let id = object[type(of: child).idKey].flatMap(ModelID.init(json:))
            if id != nil, id == child.serverID { value.isSet = true }
            if id == nil || id == child.serverID {
                value.nested = [SentObject(queued: object, of: child, isNew: !child.tracking.hasSource)]
            }
        } else if let core = slot.nestedCollection, case .array(let elements) = json {
            let sent = core.members(sentAs: elements)
            // A sent member that was removed since still has to be removed on the server.
            value.members = sent.count == elements.count ? sent.map(\.0) : []
            value.nested = sent.map { member, object in
                SentObject(queued: object, of: member, isNew: !member.tracking.hasSource)
            }
        }
        return value
    }
}

extension CollectionCore {
    /// Returns the members that were sent as elements, each with its element: by id, and new ones by their values, or
    /// else in their order.
    fileprivate func members(sentAs elements: [JSONValue]) -> [(Model, [String: JSONValue])] {
        var newMembers = allModels.filter(\.isNew)
        return elements.compactMap { json in
            guard case .object(let object) = json else { return nil }
            if let id = try? id(of: json) { return entries[id].map { ($0.model, object) } }
            let index = newMembers.firstIndex { $0.json == json } ?? newMembers.indices.first
            return index.map { (newMembers.remove(at: $0), object) }
        }
    }
}

/// The objects that a copy and its nested copies stand for, while a change is not visible.
struct Originals {
    private var pairs: [ObjectIdentifier: (copy: Model, original: Model)] = [:]

    /// Creates an empty list: each object stands for itself.
    init() {}

    /// Lists the nested objects of a copy that has not changed yet.
    init(of copy: Model, _ original: Model) { add(copy, original) }

    private mutating func add(_ copy: Model, _ original: Model) {
        guard copy !== original, pairs[ObjectIdentifier(copy)] == nil else { return }
        pairs[ObjectIdentifier(copy)] = (copy, original)
        for (copies, originals) in zip(copy.nestedSlots, original.nestedSlots) {
            for (copy, original) in zip(copies.nestedModels, originals.nestedModels) { add(copy.model, original.model) }
        }
    }

    subscript(_ model: Model) -> Model { pairs[ObjectIdentifier(model)]?.original ?? model }
}
