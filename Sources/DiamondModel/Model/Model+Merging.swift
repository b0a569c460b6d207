public import Diamond
public import Foundation
import Observation

extension Model {
    /// Merges JSON from the server: sets the properties whose keys are present, and clears their dirty bits.
    ///
    /// `null` and values of another type set the default; an id stays. Nested models and collections are merged, too. A
    /// nested object with another id replaces the nested model. While calls of the object wait in the queue, its unsaved
    /// changes stay, with the new values as their base.
    ///
    /// - Throws: ``ModelError`` for JSON that is not an object, for a value that a rule rejects (also in a nested
    ///   model), and for an id that another live model has. Nothing is written then.
    public final func merge(_ json: JSONValue) throws { try merge(ObjectMembers(json.modelObject())) }

    /// Merges a JSON text from the server.
    ///
    /// - Throws: ``ModelError``, as for a JSON value. Nothing is written then.
    public final func merge(_ text: Data) throws { try merge(JSONItem(modelText: text).modelObject()) }

    final func merge(_ members: ObjectMembers) throws {
        if hasMerged(members) { return }
        // While calls wait in the queue, their changes stay, as in a response.
        if let context, context.answerTime == nil, hasQueuedSaves {
            return try context.applyingAnswer(of: context.order.next()) { try merge(members) }
        }
        let id = members.id(at: Self.idKey)
        if let id, id != tracking.serverID, isTaken(id) { throw ModelError.duplicate(id) }
        let staging = Staging()
        let plan = MergePlan(members.object, into: self, staging: staging)
        if !plan.violations.isEmpty { throw ModelError.invalid(plan.violations) }
        staging.commit()
        plan.apply()
    }

    /// Returns whether a merge of an object would change nothing: the server has sent the same values before, and no
    /// property was set since.
    ///
    /// `false` for a model with nested models or collections, which change by themselves, and while the merge would
    /// have to be recorded for calls that are under way.
    final func hasMerged(_ object: ObjectMembers) -> Bool {
        guard tracking.dirty.isEmpty, tracking.repairs.isEmpty, tracking.nesting == .absent,
            let members = tracking.members,
            object.id(at: Self.idKey) == tracking.serverID, !recordsMerges
        else { return false }
        if members.isText(of: object) { return true }
        let object = object.object
        let values = members.read
        guard values.include(object) else { return false }
        // A part of the values may lack the key that a property was read from, and have another one of its keys.
        if values.names.count == object.count { return true }
        return PropertyVisitor.slots(of: self).allSatisfy { $0.property.keys.count == 1 }
    }

    private var recordsMerges: Bool {
        guard let context = tracking.context else { return false }
        let hasOthers = context.answerTime.map(context.order.hasOthers) ?? false
        return tracking.answerTimes != nil || hasOthers || !context.overlay.calls.isEmpty
    }

    /// Reads an array into a nested collection, and adds a repair for each rejected element.
    final func load(
        _ values: [JSONItem], into core: CollectionCore, of property: AnyProperty, readers: ObjectReaders? = nil
    ) {
        if core.context == nil { core.context = context }
        if core.hasChangedMembers, context?.answerTime != nil { return core.mergeMembers(with: values) }
        core.replaceAll(with: values, readers: readers)
        tracking.repairs += core.rejected.map { rejection in
            Repair(
                path: "\(property.key)[\(rejection.index)]", reason: .init(refusing: rejection.json),
                found: rejection.json, key: property.key)
        }
    }

    /// Returns whether another live model has an id.
    final func isTaken(_ id: ModelID) -> Bool {
        if let other = context?.existing(type(of: self), id: id), other !== self { return true }
        return links.contains { $0.holdsOther(of: id) }
    }

    /// Changes the id, also in the context and in every collection.
    final func setServerID(_ id: ModelID?) {
        guard id != tracking.serverID else { return }
        let old = untrackedID
        registrarIfAny?.willSet(self, keyPath: \Model.serverID)
        tracking.serverID = id
        registrarIfAny?.didSet(self, keyPath: \Model.serverID)
        let new = untrackedID
        // The collections first: the context notifies its observers, which may change them.
        for link in links { link.receiveID(from: old, to: new) }
        context?.rekey(self, from: old, to: new)
    }
}
