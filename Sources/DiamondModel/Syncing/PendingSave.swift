import Diamond
import Foundation
import HTTPTypes

/// A save whose request was created, and has no response yet.
struct PendingSave {
    private let engine: Engine
    private let request: Request
    private let sent: SentObject
    private let isNew: Bool
    /// The order of loads and saves, and the save's time in it.
    private let order: SyncOrder
    private let time: SyncTime
    /// The time at which the answer was received, if it has waited in the queue since.
    private var receivedAt: Date?

    /// Creates the request of a save; `nil` if there is nothing to save.
    ///
    /// - Parameters:
    ///   - subject: The object with the changes: the model itself, or a copy if the changes become visible later.
    ///   - model: The object to save.
    ///   - method: The call.
    ///   - originals: The objects that the nested objects of a copy stand for.
    init?(of subject: Model, for model: Model, as method: SaveMethod, originals: Originals = Originals()) throws {
        isNew = model.isNew
        guard isNew || subject.isDirty || method != .automatic else { return nil }
        try subject.validate()
        if subject !== model { try model.checkContexts(ofNestedIn: subject, originals: originals) }
        let call = method.call(isNew: isNew)
        engine = try model.requiredEngine()
        request = try model.resolvedRequest(for: call, body: subject.body(of: call))
        sent = SentObject(subject, isWhole: call != .update, originals: originals)
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
    ///   - receivedAt: The time at which the answer was received; `nil` if there is none.
    init(
        answeredInQueue request: Request, sent: [String: JSONValue], of model: Model, isNew: Bool, receivedAt: Date?
    ) throws {
        self.isNew = isNew
        self.request = request
        self.receivedAt = receivedAt
        engine = try model.requiredEngine()
        self.sent = SentObject(queued: sent, of: model, isNew: isNew)
        order = model.context?.order ?? SyncOrder()
        time = order.begin()
    }

    /// The local ids of the objects to which the request refers.
    var references: Set<String> { sent.model.references(in: request, of: isNew ? .create : .update) }

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
        if let id = answer.id { model.replaceDuplicate(id: id) }
        // If the object was read after the server has answered, its values are newer.
        let newer = receivedAt.map(model.syncing.keysMerged) ?? []
        // So are the values of a load that began after that.
        let time = receivedAt.flatMap(order.firstTime) ?? self.time
        let context = model.context
        let keys = Set(sent.values.map(\.property.key))
        let acknowledge = {
            model.transact(source: .server) {
                if let id = answer.id { model.setServerID(id) }
                model.acknowledge(keys)
                sent.acknowledge(
                    answer: answer.object.map(JSONValue.object), later: model.syncing.changes, newer: newer)
            }
        }
        if let context { context.notingIDs(acknowledge) } else { acknowledge() }
        defer {
            model.noteAnswer(at: receivedAt == nil ? order.next() : time, for: keys)
            model.noteFailure(nil)
            if isNew { model.syncing.loadState.noteLoad(at: model.syncing.loadState.now()) }
        }
        guard let object = answer.object, newer.isEmpty else { return }
        guard let context else { return try model.merge(.object(object)) }
        try context.applyingAnswer(of: time, receivedAt: receivedAt) { try model.merge(.object(object)) }
    }

    /// Returns the id of a new object from the response to the call that has created it; `nil` if there is none.
    static func id(in response: Response, of type: Model.Type) throws -> ModelID? {
        let object = try? type.object(in: response)
        return object?.id(at: type.idKey) ?? id(inLocationOf: response)?.id
    }

    /// The object in a response, and its id.
    private struct Answer {
        let object: [String: JSONValue]?
        let id: ModelID?
    }

    private func answer(in response: Response, for model: Model) throws -> Answer {
        let located = isNew ? Self.id(inLocationOf: response) : nil
        let key = type(of: model).idKey
        let members: ObjectMembers?
        do { members = try type(of: model).object(in: response) } catch {
            // The object was created, even if the body is malformed.
            guard response.status == .created, located != nil else { throw error }
            members = nil
        }
        // Some servers confirm with another value: an empty array, a text.
        guard let members else {
            return Answer(object: located.map { [key: $0.json] }, id: try known(located?.id))
        }
        try model.checkSubject(of: members)
        let id = members.id(at: key) ?? located?.id
        var object = members.object
        if let located, object[key] == nil { object[key] = located.json }
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

    /// An id from the URL of a new object.
    private struct LocatedID {
        let id: ModelID
        let json: JSONValue
    }

    private static func id(inLocationOf response: Response) -> LocatedID? {
        guard let json = response.headers[.location].flatMap(JSONValue.init(idInLocation:)) else { return nil }
        return ModelID(json: json).map { LocatedID(id: $0, json: json) }
    }
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

    /// Throws if a copy of this object has nested objects that this one cannot have: those of another context, or with
    /// the id of another live instance.
    fileprivate final func checkContexts(ofNestedIn copy: Model, originals: Originals) throws {
        guard let context else { return }
        for slot in copy.nestedSlots
        where copy.isDirty(slot.property) || slot.nestedCollection?.hasChangedMembers == true {
            for (_, nested) in slot.nestedModels { try context.checkRegistration(of: originals[nested]) }
        }
    }
}
