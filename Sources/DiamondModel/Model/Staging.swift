import Diamond

/// The effects of a reading or merge on other objects, held back until every object has been checked.
final class Staging {
    private struct Claim: Hashable {
        let context: ObjectIdentifier
        let type: ObjectIdentifier
        let id: ModelID
    }

    private var claims: [Claim: Model] = [:]
    private var newModels: [Model] = []
    private var writes: [() -> Void] = []
    /// The values that the rules of live nested models reject.
    private var violations: [Violation] = []

    // MARK: Ids

    /// Returns the model that has an id of its class in a context, or will have it after the writes.
    func model(_ type: Model.Type, _ id: ModelID, in context: ModelContext?) -> Model? {
        guard let context else { return nil }
        return claims[claim(type, id, in: context)] ?? context.existing(type, id: id)
    }

    /// Notes that a model of a context will have an id.
    func claim(_ id: ModelID, for model: Model, in context: ModelContext?) {
        guard let context else { return }
        claims[claim(type(of: model).identityClass, id, in: context)] = model
    }

    /// Notes a new model, which `commit` makes the live instance of its id.
    func add(_ model: Model, _ id: ModelID) {
        claim(id, for: model, in: model.context)
        newModels.append(model)
    }

    private func claim(_ type: Model.Type, _ id: ModelID, in context: ModelContext) -> Claim {
        Claim(context: ObjectIdentifier(context), type: ObjectIdentifier(type.identityClass), id: id)
    }

    // MARK: Writes

    func append(_ write: @escaping () -> Void) { writes.append(write) }

    /// Runs `body`, and takes out the writes that it has appended.
    func collect(_ body: () -> Void) -> [() -> Void] {
        let start = writes.count
        body()
        if writes.count == start { return [] }
        defer { writes.removeSubrange(start...) }
        return Array(writes[start...])
    }

    /// Runs `body`, and drops what it has staged when it returns `false`.
    func attempt(_ body: () -> Bool) {
        let (claims, newModels, writes) = (claims, newModels, writes)
        if !body() { (self.claims, self.newModels, self.writes) = (claims, newModels, writes) }
    }

    /// Makes the new models live instances, and runs the writes.
    func commit() {
        // Observers of the writes may ask for the new models.
        for model in newModels { model.context?.enter(model) }
        for write in writes { write() }
    }

    // MARK: Violations

    func note(_ violations: [Violation]) { self.violations += violations }

    /// Returns the violations since the last call.
    func takeViolations() -> [Violation] {
        if violations.isEmpty { return [] }
        defer { violations = [] }
        return violations
    }
}
