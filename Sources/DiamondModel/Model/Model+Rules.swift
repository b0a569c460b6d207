import Diamond

extension Model {
    /// The rules that the current values break. A model with violations cannot be saved.
    ///
    /// Those of nested models have their paths as keys: `author.name`, `lines[2].count`. Nested models that the JSON of
    /// this one does not contain are left out.
    public final var violations: [Violation] {
        var visited: Set<ObjectIdentifier> = []
        return violations(visited: &visited)
    }

    private func violations(visited: inout Set<ObjectIdentifier>) -> [Violation] {
        guard visited.insert(ObjectIdentifier(self)).inserted else { return [] }
        var violations: [Violation] = []
        let slots = PropertyVisitor.slots(of: self)
        track(slots)
        for slot in slots {
            violations += brokenRules(of: slot).map(slot.property.violation)
            guard slot.property.isNested, isWritten(slot) else { continue }
            for (path, model) in slot.nestedModels {
                violations += model.violations(visited: &visited).map {
                    Violation(key: "\(path).\($0.key)", rule: $0.rule, reason: $0.reason)
                }
            }
        }
        return violations
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
        tracking.rejections += broken.map(property.violation)
        if tracking.rejections != before { syncStateDidChange() }
    }

    /// Records the reason for which a property's codec refuses a value, in place of earlier violations.
    final func reject(_ property: AnyProperty, because reason: String) {
        tracking.rejections.removeAll { $0.key == property.key }
        tracking.rejections.append(Violation(key: property.key, rule: "type", reason: reason))
        syncStateDidChange()
    }

    /// Returns the id rules that a value breaks: `unique` if another model has the id, `id` if it would remove the id.
    final func brokenIDRules(of property: AnyProperty, json: JSONValue) -> [String] {
        guard property.key == Self.idKey else { return [] }
        guard let id = ModelID(json: json) else { return isNew ? [] : ["id"] }
        return isTaken(id) ? ["unique"] : []
    }

    /// Returns the context rules that a nested model breaks: `otherContext` if it belongs to another context than this
    /// model, `unique` if the context has another live instance with its id.
    final func brokenContextRules(of property: AnyProperty, value: Any) -> [String] {
        guard let context, let child = property.nestedModel(in: value) else { return [] }
        do { try context.checkRegistration(of: child) } catch {
            return [error.code == .duplicateID ? "unique" : "otherContext"]
        }
        return []
    }

    /// Makes a nested model that was set a live instance of this model's context.
    final func adoptNested(_ value: Any, in property: AnyProperty) {
        guard let context, let child = property.nestedModel(in: value), child.context == nil else { return }
        context.adopt(child, of: self)
    }

    private func brokenRules(of slot: PropertyVisitor.Slot) -> [String] {
        let broken = slot.property.brokenRules(of: slot.value)
        return slot.property.isRequired && isMissing(slot.property) ? ["required"] + broken : broken
    }

    /// Returns whether the JSON had no value and none was set.
    private func isMissing(_ property: AnyProperty) -> Bool {
        if isDirty(property) { return false }
        return !tracking.hasSource || tracking.repairs.contains { $0.key == property.key }
    }
}
