import Diamond

extension Tracking {
    /// Removes members from a response if a newer response has already set their properties.
    func removeNewer(than time: SyncTime, from object: inout [String: JSONValue], properties: [AnyProperty]) {
        guard let answerTimes else { return }
        for property in properties where answerTimes[property.key].map({ $0 > time }) ?? false {
            for key in property.keys {
                if key.isCut(in: object) { Self.writeNulls(besides: key, into: &object, properties: properties) }
                key.put(nil, into: &object)
            }
        }
    }

    /// Replaces a value that is no object, but contains properties by their paths, by an object with `null` for each.
    private static func writeNulls(
        besides key: PropertyKey, into object: inout [String: JSONValue], properties: [AnyProperty]
    ) {
        let keys = properties.flatMap(\.keys).filter { $0.names[0] == key.names[0] && $0.isCut(in: object) }
        for key in keys { key.put(.null, into: &object) }
    }
}

extension Model {
    /// Records the time of the response that has set properties. Forgets all times if no other response may arrive.
    final func noteAnswer(at time: SyncTime, for keys: Set<String>) {
        guard let context, context.order.hasOthers(than: time) else {
            tracking.answerTimes = nil
            return
        }
        var times = tracking.answerTimes ?? [:]
        for key in keys { times[key] = time }
        tracking.answerTimes = times
    }

    /// Records the time of the response that a new object was created from.
    final func noteFirstAnswer(at time: SyncTime, of members: ObjectMembers, in context: ModelContext) {
        guard context.order.hasOthers(than: time) else { return }
        let properties = PropertyVisitor.slots(of: self).map(\.property)
        noteAnswer(at: time, for: Set(properties.filter { $0.item(in: members) != nil }.map(\.key)))
    }

    /// Returns whether the object has values of a response that is newer than a time.
    final func hasAnswer(since time: SyncTime) -> Bool { tracking.answerTimes?.values.contains { $0 > time } ?? false }

    /// Returns the user's unsaved properties among the keys, with their values.
    final func edits(of keys: Set<String>) -> [PropertyVisitor.Slot] {
        let dirty = tracking.dirty.map(\.property).filter { keys.contains($0.key) && $0.key != Self.idKey }
        if dirty.isEmpty { return [] }
        return PropertyVisitor.slots(of: self).filter { slot in dirty.contains { $0 === slot.property } }
    }

    /// Restores the user's unsaved values after a merge. A value that the server now has, too, is no longer unsaved.
    final func reapply(_ edits: [PropertyVisitor.Slot]) {
        for change in PropertyVisitor.assign(edits, to: self) {
            note(change)
            tracking.repairs.removeAll { $0.key == change.property.key }
            // The JSON may have less precision than the value, such as that of a date.
            if change.property.encode(change.old) == change.property.encode(change.new) { continue }
            guard let original = change.property.original(change.old) else { continue }
            tracking.dirty.append(DirtyProperty(property: change.property, original: original))
        }
    }
}
