import Diamond

extension Model {
    /// The rules that the current values break. A model with violations cannot be saved.
    public final var violations: [Violation] {
        let slots = PropertyVisitor.slots(of: self)
        track(slots)
        return slots.flatMap { slot in
            brokenRules(of: slot).map { Violation(key: slot.property.key, rule: $0) }
        }
    }

    /// The rules by which setters and keyed writes have rejected values. Entries stay until the property accepts
    /// another value.
    public final var rejections: [Violation] {
        trackSyncState()
        return tracking.rejections
    }

    /// Checks the rules of all properties, before a save.
    ///
    /// - Throws: ``ModelError`` with the broken rules.
    public final func validate() throws {
        let violations = violations
        if !violations.isEmpty { throw ModelError.invalid(violations) }
    }

    /// Records the rules that reject a value, in place of earlier ones. There are none if the value was set.
    final func reject(_ property: AnyProperty, for broken: [String]) {
        let before = tracking.rejections
        if before.isEmpty, broken.isEmpty { return }
        tracking.rejections.removeAll { $0.key == property.key }
        tracking.rejections += broken.map { Violation(key: property.key, rule: $0) }
        if tracking.rejections != before { syncStateDidChange() }
    }

    /// Returns the id rules that a value breaks: `unique` if another model has the id, `id` if it would remove the id.
    final func brokenIDRules(of property: AnyProperty, json: JSONValue) -> [String] {
        guard property.key == Self.idKey else { return [] }
        guard let id = ModelID(json: json) else { return isNew ? [] : ["id"] }
        return isTaken(id) ? ["unique"] : []
    }

    private func brokenRules(of slot: PropertyVisitor.Slot) -> [String] {
        let broken = slot.property.brokenRules(of: slot.value)
        return slot.property.isRequired && isMissing(slot.property) ? ["required"] + broken : broken
    }

    /// Returns whether the JSON had no value and none was set.
    private func isMissing(_ property: AnyProperty) -> Bool {
        if isDirty(property) { return false }
        return tracking.source == nil || tracking.repairs.contains { $0.key == property.key }
    }
}
