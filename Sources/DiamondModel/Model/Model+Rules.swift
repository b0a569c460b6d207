import Diamond

extension Model {
    /// The rules that the present values break. A model with any cannot be saved.
    public final var violations: [Violation] {
        PropertyVisitor.slots(of: self).flatMap { slot in
            brokenRules(of: slot).map { Violation(key: slot.property.key, rule: $0) }
        }
    }

    /// The values that setters have refused, until the property accepts another.
    public final var rejections: [Violation] { tracking.rejections }

    /// Checks the rules of all properties, before a save.
    ///
    /// - Throws: ``ModelError`` with the broken rules.
    public final func validate() throws {
        let violations = violations
        if !violations.isEmpty { throw ModelError.invalid(violations) }
    }

    private func brokenRules(of slot: PropertyVisitor.Slot) -> [String] {
        let broken = slot.property.brokenRules(of: slot.value)
        return slot.property.isRequired && isMissing(slot.property) ? ["required"] + broken : broken
    }

    /// Whether neither the JSON held a value nor somebody has set one.
    private func isMissing(_ property: AnyProperty) -> Bool {
        if isDirty(property) { return false }
        return tracking.source == nil || tracking.repairs.contains { $0.key == property.key }
    }
}
