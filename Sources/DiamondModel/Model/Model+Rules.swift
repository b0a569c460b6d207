import Diamond

extension Model {
    /// The rules that the current values break. A model with violations cannot be saved.
    public final var violations: [Violation] {
        PropertyVisitor.slots(of: self).flatMap { slot in
            brokenRules(of: slot).map(slot.property.violation)
        }
    }

    /// The rules by which setters and keyed writes have rejected values. Entries stay until the property accepts
    /// another value.
    public final var rejections: [Violation] { tracking.rejections }

    /// Checks the rules of all properties, before a save.
    ///
    /// - Throws: ``ModelError`` with the broken rules.
    public final func validate() throws {
        let violations = violations
        if !violations.isEmpty { throw ModelError.invalid(violations) }
    }

    /// Records the rules that reject a value, in place of earlier ones. There are none if the value was set.
    final func reject(_ property: AnyProperty, for broken: [String]) {
        tracking.rejections.removeAll { $0.key == property.key }
        tracking.rejections += broken.map(property.violation)
    }

    /// Records the reason for which a property's codec refuses a value, in place of earlier violations.
    final func reject(_ property: AnyProperty, because reason: String) {
        tracking.rejections.removeAll { $0.key == property.key }
        tracking.rejections.append(Violation(key: property.key, rule: "type", reason: reason))
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
