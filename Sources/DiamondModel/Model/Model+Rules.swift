import Diamond

extension Model {
    /// The rules that the present values break. A model with any cannot be saved.
    public final var violations: [Violation] {
        PropertyVisitor.slots(of: self).flatMap { slot in
            brokenRules(of: slot).map { Violation(key: slot.property.key, rule: $0) }
        }
    }

    /// The rules by which setters and keyed writes have refused values, until the property accepts another.
    public final var rejections: [Violation] { tracking.rejections }

    /// Checks the rules of all properties, before a save.
    ///
    /// - Throws: ``ModelError`` with the broken rules.
    public final func validate() throws {
        let violations = violations
        if !violations.isEmpty { throw ModelError.invalid(violations) }
    }

    /// Notes the rules that have kept a value out of a property; none when it was set.
    final func reject(_ property: AnyProperty, for broken: [String]) {
        tracking.rejections.removeAll { $0.key == property.key }
        tracking.rejections += broken.map { Violation(key: property.key, rule: $0) }
    }

    /// The rules of ids that a value breaks: another model must not have it, and a model with an id keeps one.
    final func brokenIDRules(of property: AnyProperty, _ json: JSONValue) -> [String] {
        guard property.key == Self.idKey else { return [] }
        guard let id = ModelID(json: json) else { return isNew ? [] : ["id"] }
        return isTaken(id) ? ["unique"] : []
    }

    private func brokenRules(of slot: PropertyVisitor.Slot) -> [String] {
        let broken = slot.property.brokenRules(of: slot.value)
        return slot.property.isRequired && isMissing(slot.property) ? ["required"] + broken : broken
    }

    /// Whether the JSON held no value and none was set.
    private func isMissing(_ property: AnyProperty) -> Bool {
        if isDirty(property) { return false }
        return tracking.source == nil || tracking.repairs.contains { $0.key == property.key }
    }
}
