import Diamond
import Foundation
import HTTPTypes

/// A property's value that is or contains the id of another object, which may be a local one.
protocol ObjectReference {}

extension TypedID: ObjectReference {}
extension ParentReference: ObjectReference {}
extension Optional: ObjectReference where Wrapped: ObjectReference {}
extension Array: ObjectReference where Element: ObjectReference {}
extension Dictionary: ObjectReference where Value: ObjectReference {}

extension ModelContext {
    /// Notes the server's id of an object that was created on this device. Puts it into the properties of live objects
    /// that refer to that object.
    func note(_ id: ModelID, of local: ModelID) {
        guard local.isLocal, !id.isLocal, serverIDs.updateValue(id.json, forKey: local.description) == nil else {
            return
        }
        newIDs[local.description] = id.json
        if !isNotingIDs { putNewIDs() }
    }

    /// Runs `body`, and puts the ids that it notes into the referring objects at once at its end.
    func notingIDs(_ body: () -> Void) {
        let isOutermost = !isNotingIDs
        isNotingIDs = true
        body()
        guard isOutermost else { return }
        isNotingIDs = false
        putNewIDs()
    }

    private func putNewIDs() {
        if newIDs.isEmpty { return }
        let ids = newIDs
        newIDs = [:]
        // Only a value that a program has set can be a local id.
        for model in Array(liveModels) where (model.isNew || !model.tracking.dirty.isEmpty) && hasReferences(model) {
            model.replaceReferences(ids)
        }
    }

    /// Puts the known ids into the properties of an object that was not live when they were noted.
    func putIDs(into model: Model) {
        if !serverIDs.isEmpty, hasReferences(model) { model.replaceReferences(serverIDs) }
    }

    /// Notes the ids of the objects that queued calls have created.
    func noteIDs(of jobs: [(job: ReplayJob, isConsumed: Bool)]) {
        for (job, _) in jobs where job.state == .done {
            guard let subject = QueuedSubject(job), let local = subject.localID, let id = subject.serverID else {
                continue
            }
            note(id, of: local)
        }
    }

    /// Returns a request with the server's ids in place of the local ones that are known.
    func resolved(_ request: Request) -> Request { request.replacing(serverIDs(in: request)) }

    /// Returns the known ids of the objects to which a request refers, by local id.
    func serverIDs(in request: Request?) -> [String: JSONValue] {
        guard !serverIDs.isEmpty, let names = request?.localIDs else { return [:] }
        return Dictionary(uniqueKeysWithValues: names.compactMap { name in serverIDs[name].map { (name, $0) } })
    }

    /// Returns whether a class has properties that refer to other objects.
    private func hasReferences(_ model: Model) -> Bool {
        let type = ObjectIdentifier(type(of: model))
        if let known = referringTypes[type] { return known }
        let isReferring = PropertyVisitor.slots(of: model).contains { $0.property.isReference }
        referringTypes[type] = isReferring
        return isReferring
    }
}

extension Model {
    /// Puts ids into the properties that refer to other objects. This is no change of the user.
    fileprivate final func replaceReferences(_ ids: [String: JSONValue]) {
        let slots = PropertyVisitor.slots(of: self).compactMap { slot -> PropertyVisitor.Slot? in
            guard slot.property.isReference else { return nil }
            let json = slot.property.encode(slot.value)
            var repairs = RepairLog()
            guard !json.localIDs.isDisjoint(with: ids.keys),
                let value = slot.property.decode(json.replacing(ids), repairs: &repairs)
            else { return nil }
            return PropertyVisitor.Slot(property: slot.property, value: value)
        }
        if slots.isEmpty { return }
        transact(source: .server) {
            for change in PropertyVisitor.assign(slots, to: self) { note(change) }
        }
    }

    /// Returns the request of a call, with the server's ids in place of the local ones that are known.
    final func resolvedRequest(for call: ModelCall, body: JSONValue?) throws -> Request {
        let plain = try request(for: call, body: call == .create ? body.map(withoutOwnReferences) : body)
        var request = context?.resolved(plain) ?? plain
        let names = request.localIDs
        if names.isEmpty { return request }
        // The server creates these objects with this call: no id of theirs can be in it.
        let created = Set(nestedLocalIDs())
        guard !names.isDisjoint(with: created), case .json(let body)? = request.body else { return request }
        let nulls = created.map { ($0, JSONValue.null) }
        request.body = .json(body.replacing(Dictionary(uniqueKeysWithValues: nulls)))
        return request
    }

    /// Returns the object of a call that creates this one, with `null` in place of references to itself. Its local id
    /// in a property with another meaning stays.
    private func withoutOwnReferences(_ body: JSONValue) -> JSONValue {
        let own = localID.description
        guard case .object(var members) = body, body.localIDs.contains(own) else { return body }
        for slot in PropertyVisitor.slots(of: self) where slot.property.isReference || slot.property.isNested {
            let key = slot.property.writeKey(in: tracking.source)
            if let value = key.value(in: members) { key.put(value.replacing([own: .null]), into: &members) }
        }
        return .object(members)
    }

    /// The local ids of the new objects in properties, at any depth.
    private func nestedLocalIDs() -> [String] {
        guard !tracking.isVisiting else { return [] }
        return visiting {
            nestedSlots.flatMap { slot in
                slot.nestedModels.flatMap { _, nested in
                    (nested.isNew ? [nested.localID.description] : []) + nested.nestedLocalIDs()
                }
            }
        }
    }

    /// Returns the request of a call that is sent now.
    ///
    /// - Throws: ``ModelError`` `missingID` if it refers to an object without a server id.
    final func sentRequest(for call: ModelCall, body: JSONValue?) throws -> Request {
        let request = try resolvedRequest(for: call, body: body)
        if let name = request.localIDs.min() { throw ModelError.unsaved(name) }
        return request
    }

    /// The places of the id in the answer to a call that creates an object of this class (`ReplayCreation`).
    /// They are found with answers that have a known id.
    static func idPaths(in request: Request) -> [[String]] {
        let body = request.body?.jsonValue
        var wrappers: [[String]] = [["data"], []]
        if case .object(let members)? = body, let object = try? object(in: request), object != body,
            let name = members.first(where: { $0.value == object })?.key, name != "data"
        {
            wrappers.insert([name], at: 0)
        }
        return wrappers.map { $0 + [idKey] }.filter { path in
            let json = path.reversed().reduce(JSONValue.string("id")) { .object([$1: $0]) }
            let response = Response(
                status: .created, headers: [.contentType: "application/json"], body: Data(json.description.utf8),
                url: request.url)
            return (try? object(in: response))?[idKey] == "id"
        }
    }
}

extension ModelError {
    static func unsaved(_ name: String) -> ModelError {
        ModelError(
            .missingID,
            "the request refers to the object \(name), which has no server id yet: save that object first")
    }
}
