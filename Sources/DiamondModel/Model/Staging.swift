import Diamond

/// The effects of a reading or merge on other objects, deferred until every object has been checked.
final class Staging {
    private struct Claim: Hashable {
        let context: ObjectIdentifier
        let type: ObjectIdentifier
        let id: ModelID
    }

    private var claims: [Claim: Model] = [:]
    private var newModels: [Model] = []
    private var writes: [() -> Void] = []
    /// The values that rules of live nested models reject.
    private var violations: [Violation] = []

    // MARK: Ids

    /// Returns the model with an id in a context, as it will be after the writes.
    func model(_ type: Model.Type, id: ModelID, in context: ModelContext?) -> Model? {
        guard let context else { return nil }
        return claims[claim(type, id: id, in: context)] ?? context.existing(type, id: id)
    }

    /// Records that a model of a context will have an id.
    func claim(_ id: ModelID, for model: Model, in context: ModelContext?) {
        guard let context else { return }
        claims[claim(type(of: model).identityClass, id: id, in: context)] = model
    }

    /// Records a new model. ``commit()`` makes it the live instance of its id.
    func add(_ model: Model, id: ModelID) {
        claim(id, for: model, in: model.context)
        newModels.append(model)
    }

    private func claim(_ type: Model.Type, id: ModelID, in context: ModelContext) -> Claim {
        Claim(context: ObjectIdentifier(context), type: ObjectIdentifier(type.identityClass), id: id)
    }

    // MARK: Writes

    func append(_ write: @escaping () -> Void) { writes.append(write) }

    /// Runs `body`, and removes and returns the writes that it has appended.
    func collect(_ body: () -> Void) -> [() -> Void] {
        let start = writes.count
        body()
        if writes.count == start { return [] }
        defer { writes.removeSubrange(start...) }
        return Array(writes[start...])
    }

    /// Runs `body`, and discards what it has staged if it returns `false`.
    func attempt(_ body: () -> Bool) {
        let oldClaims = claims
        let oldModels = newModels
        let oldWrites = writes
        if body() { return }
        claims = oldClaims
        newModels = oldModels
        writes = oldWrites
    }

    /// Makes the new models live instances, and runs the writes.
    func commit() {
        // Observers of the writes may look up the new models.
        for model in newModels { model.context?.enter(model) }
        for write in writes { write() }
        for model in newModels { model.context?.showCalls(on: model) }
    }

    /// Forgets everything, to be used for another object.
    func reset() {
        // Most objects have nothing nested.
        if newModels.isEmpty, writes.isEmpty, claims.isEmpty, violations.isEmpty { return }
        claims = [:]
        newModels = []
        writes = []
        violations = []
    }

    // MARK: Violations

    func note(_ violations: [Violation]) { self.violations += violations }

    /// Returns and clears the recorded violations.
    func takeViolations() -> [Violation] {
        if violations.isEmpty { return [] }
        defer { violations = [] }
        return violations
    }
}
