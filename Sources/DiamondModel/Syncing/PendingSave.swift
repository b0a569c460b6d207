import Diamond
import Foundation
import HTTPTypes

/// A save whose request was created, and has no response yet.
struct PendingSave {
    /// A sent value.
    private struct Value {
        let property: AnyProperty
        let value: Any
        let json: JSONValue
        /// The object's value when the request was created. If the change becomes visible later, it is the old value.
        let current: Any
        /// The members of a nested collection when the request was created.
        var members: [Model] = []
    }

    private let engine: Engine
    private let request: Request
    private let values: [Value]
    private let isNew: Bool
    /// The order of loads and saves, and the save's time in it.
    private let order: SyncOrder
    private let time: Int
    /// Whether the object was loaded after the server has answered.
    private var isOutdated = false

    /// Creates the request of a save; `nil` if there is nothing to save.
    ///
    /// - Parameters:
    ///   - subject: The object with the changes: the model itself, or a copy if the changes become visible later.
    ///   - model: The object to save.
    ///   - method: The call.
    init?(of subject: Model, for model: Model, as method: SaveMethod) throws {
        isNew = model.isNew
        guard isNew || subject.isDirty || method != .automatic else { return nil }
        try subject.validate()
        let call = method.call(isNew: isNew)
        engine = try model.requiredEngine()
        request = try model.request(for: call, body: subject.body(of: call))
        let slots = zip(PropertyVisitor.slots(of: subject), PropertyVisitor.slots(of: model))
        values = slots.compactMap { sent, own in
            let isSent = call == .update ? subject.isChanged(sent) : sent.property.access == .user
            guard isSent else { return nil }
            return Value(
                property: sent.property, value: sent.value, json: sent.property.encode(sent.value), current: own.value,
                members: sent.property.nestedCollection(in: sent.value)?.allModels ?? [])
        }
        order = model.context?.order ?? SyncOrder()
        time = order.begin()
    }

    /// Creates a save that the queue has sent.
    ///
    /// - Parameters:
    ///   - request: The sent request.
    ///   - sent: The members of the object in the request.
    ///   - model: The object.
    ///   - isNew: Whether the call has created the object.
    ///   - isOutdated: Whether the object has newer values than the answer.
    init(
        answeredInQueue request: Request, sent: [String: JSONValue], of model: Model, isNew: Bool, isOutdated: Bool
    ) throws {
        self.isNew = isNew
        self.request = request
        self.isOutdated = isOutdated
        engine = try model.requiredEngine()
        values = Self.values(in: sent, of: model, isNew: isNew)
        order = model.context?.order ?? SyncOrder()
        time = order.begin()
    }

    /// Returns the values of an object that were sent as JSON.
    private static func values(in sent: [String: JSONValue], of model: Model, isNew: Bool) -> [Value] {
        PropertyVisitor.slots(of: model).compactMap { slot -> Value? in
            let property = slot.property
            guard property.access == .user, let json = property.keyFound(in: sent)?.value(in: sent) else { return nil }
            // A value that is not an unsaved change has been replaced by the server's value since.
            guard model.isChanged(slot) || isNew || property.encode(slot.value) == json else { return nil }
            var log = RepairLog(context: nil, staging: nil)
            // A nested value cannot be decoded here: only its JSON is compared.
            let value: Any? = property.isNested ? slot.value : property.decode(json, repairs: &log)
            return value.map { Value(property: property, value: $0, json: json, current: $0) }
        }
    }

    /// Ends the call in the order of loads and saves.
    func end() { order.end(time) }

    func send() async throws -> Response { try await engine.successfulResponse(to: request) }

    /// Marks the sent values as saved, and merges the response.
    ///
    /// - Parameter confirm: Called as soon as it is certain that the server has confirmed the save.
    /// - Throws: An error of the response. Confirmed values stay.
    func finish(_ response: Response, on model: Model, confirm: () -> Void) throws {
        let answer = try answer(in: response, for: model)
        confirm()
        if let id = answer.id { replaceDuplicate(of: model, id: id) }
        let context = model.context
        let keys = Set(values.map(\.property.key))
        model.transact(source: .server) {
            if let id = answer.id { model.setServerID(id) }
            model.acknowledge(keys)
            for value in values { acknowledge(value, on: model, later: model.syncing.changes) }
        }
        defer {
            model.noteAnswer(at: order.next(), for: keys)
            if isNew { model.syncing.loadState.noteLoad(at: model.syncing.loadState.now()) }
        }
        guard let object = answer.object, !isOutdated else { return }
        guard let context else { return try model.merge(.object(object)) }
        try context.applyingAnswer(of: time) { try model.merge(.object(object)) }
    }

    /// Returns the id of a new object from the response to the call that has created it; `nil` if there is none.
    static func id(in response: Response, of type: Model.Type) throws -> ModelID? {
        let object = try? type.object(in: response)?.modelObject()
        return object?[type.idKey].flatMap(ModelID.init(json:)) ?? id(inLocationOf: response)
    }

    /// The object in a response, and its id.
    private struct Answer {
        let object: [String: JSONValue]?
        let id: ModelID?
    }

    private func answer(in response: Response, for model: Model) throws -> Answer {
        let located = isNew ? Self.id(inLocationOf: response) : nil
        let json: JSONValue?
        do { json = try type(of: model).object(in: response) } catch {
            // The object was created, even if the body is malformed.
            guard response.status == .created, located != nil else { throw error }
            json = nil
        }
        // Some servers confirm with another value: an empty array, a text.
        guard case .object(var object)? = json else {
            return Answer(object: located.map { [type(of: model).idKey: $0.number] }, id: try known(located))
        }
        try model.checkSubject(of: .object(object))
        let key = type(of: model).idKey
        let id = object[key].flatMap(ModelID.init(json:)) ?? located
        if let id, object[key] == nil { object[key] = id.number }
        return Answer(object: object, id: try known(id))
    }

    /// Returns the id, or throws if a new object has none.
    private func known(_ id: ModelID?) throws -> ModelID? {
        if isNew, id == nil {
            throw ModelError(
                .missingID, "the server has created the object and reports no id: load the list before you save again")
        }
        return id
    }

    /// Returns the last segment of the URL of a new object (RFC 9110 section 15.3.2).
    private static func id(inLocationOf response: Response) -> ModelID? {
        guard let location = response.headers[.location] else { return nil }
        let path = location.prefix { $0 != "?" && $0 != "#" }
        guard let last = path.split(separator: "/").last, let text = last.removingPercentEncoding else { return nil }
        return ModelID(json: .string(text))
    }

    /// Replaces another live instance with the same id, which a load created before the response to the save arrived.
    private func replaceDuplicate(of model: Model, id: ModelID) {
        guard id != model.serverID, let context = model.context,
            let duplicate = context.existing(type(of: model), id: id), duplicate !== model
        else { return }
        context.detach(duplicate)
        for link in duplicate.links {
            if let entry = link as? Entry { entry.owner?.replace(entry, with: model) }
            if let child = link as? ChildLink { child.replaceChild(with: model) }
        }
    }

    // MARK: Confirmed values

    /// Makes a sent value of an object a saved one.
    ///
    /// - Parameter later: The visible changes of the saved object that were not answered.
    private func acknowledge(_ sent: Value, on model: Model, later: [VisibleChange]) {
        for change in later { change.confirm(sent.value, of: sent.property, on: model) }
        var source = model.tracking.source ?? [:]
        sent.property.writeKey(in: source).put(sent.json, into: &source)
        model.tracking.source = source
        guard let slot = PropertyVisitor.slots(of: model).first(where: { $0.property === sent.property }) else {
            return
        }
        if slot.property.isNested { return acknowledgeNested(slot, sent: sent, on: model, later: later) }
        let wasDirty = model.isDirty(sent.property)
        model.tracking.dirty.removeAll { $0.property === sent.property }
        model.tracking.repairs.removeAll { $0.key == sent.property.key }
        // The JSON may have less precision than the value, such as that of a date.
        if slot.property.areSame(slot.value, sent.value) || slot.property.encode(slot.value) == sent.json { return }
        // A value that was set back to the last synced one is not dirty, although the server now has the sent value.
        let isSet = wasDirty || slot.property.areSame(sent.current, sent.value)
        if isSet, !slot.property.areSame(slot.value, sent.current),
            let original = sent.property.original(sent.value)
        {
            // The value was set during the save.
            model.tracking.dirty.append(DirtyProperty(property: sent.property, original: original))
        } else {
            let arriving = PropertyVisitor.Slot(property: sent.property, value: sent.value)
            for change in PropertyVisitor.assign([arriving], to: model) { model.note(change) }
        }
    }

    private func acknowledgeNested(
        _ slot: PropertyVisitor.Slot, sent: Value, on model: Model, later: [VisibleChange]
    ) {
        let isUnchanged = slot.property.encode(slot.value) == sent.json
        if isUnchanged { model.tracking.dirty.removeAll { $0.property === sent.property } }
        if let child = slot.property.nestedModel(in: slot.value) {
            if isUnchanged { return child.markSynced() }
            guard let copy = slot.property.nestedModel(in: sent.value) else { return }
            if copy !== child { return child.applyChanges(of: copy) }
            acknowledge(sent.json, sentFor: child, later: later)
        } else if let core = slot.property.nestedCollection(in: slot.value) {
            if isUnchanged { return core.markSynced() }
            guard let copy = slot.property.nestedCollection(in: sent.value) else { return }
            if copy !== core { return core.applyChanges(of: copy) }
            acknowledge(sent, sentFor: core, later: later)
        }
    }

    /// Makes sent values of a nested object saved ones. Others were set during the save.
    private func acknowledge(_ json: JSONValue, sentFor child: Model, later: [VisibleChange]) {
        guard case .object(let sent) = json else { return }
        child.transact(source: .server) {
            for value in Self.values(in: sent, of: child, isNew: false) { acknowledge(value, on: child, later: later) }
        }
    }

    /// Makes sent values of the members of a nested collection saved ones, and the sent members the saved ones.
    private func acknowledge(_ sent: Value, sentFor core: CollectionCore, later: [VisibleChange]) {
        for change in later { change.confirm(sent.members, of: core) }
        if core.allModels.elementsEqual(sent.members, by: ===) { core.hasChangedMembers = false }
        guard case .array(let elements) = sent.json else { return }
        for element in elements {
            guard let id = try? core.id(of: element), let member = core.entries[id]?.model else { continue }
            acknowledge(element, sentFor: member, later: later)
        }
    }
}

extension ModelID {
    /// The id as JSON: a number if it is one, otherwise text.
    fileprivate var number: JSONValue { UInt64(description).map { JSONValue($0) } ?? json }
}

extension Model {
    final func body(of call: ModelCall) -> JSONValue {
        switch call {
        case .create: creationJSON
        case .update: changedJSON
        default: json
        }
    }

    /// Lets the response to a save replace the values of the sent properties.
    fileprivate final func acknowledge(_ keys: Set<String>) {
        for key in keys { tracking.answerTimes?[key] = nil }
    }

    /// Sets the confirmed changes of a copy, except properties that were set here in the meantime.
    fileprivate final func applyChanges(of copy: Model) {
        let changed = PropertyVisitor.slots(of: copy).filter { slot in
            copy.isDirty(slot.property) && !isDirty(slot.property) && !slot.property.isNested
        }
        transact(source: .server) {
            for change in PropertyVisitor.assign(changed, to: self) { note(change) }
            var source = tracking.source ?? [:]
            for slot in changed {
                slot.property.writeKey(in: source).put(slot.property.encode(slot.value), into: &source)
            }
            tracking.source = source
        }
    }
}

extension CollectionCore {
    /// Sets the members of a copy, which the server has confirmed.
    fileprivate func applyChanges(of copy: CollectionCore) {
        let members = copy.allModels.map { model -> Model in
            guard let own = entries[model.modelID]?.model else { return model }
            own.applyChanges(of: model)
            return own
        }
        guard (try? setModels(members)) != nil else { return }
        markSynced()
    }
}
