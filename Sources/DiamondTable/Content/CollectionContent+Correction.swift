import DiamondModel

extension CollectionContent {
    /// Returns the step that changes the rows shown after a gesture into the rows of the collection; `nil` until all
    /// change sets are there. Usually the rows are the same, and the step only has updates.
    func correction() -> TableStep? {
        // The change sets name the updated rows, so all up to the current generation have to be there.
        guard (pending.last?.newGeneration ?? generation) >= collection.generation else { return nil }
        let missed = pending.filter { $0.newGeneration > generation }
        if missed.contains(where: \.isReset) || missed.first.map({ $0.oldGeneration > generation }) ?? false {
            return reloadStep
        }
        let updated = Set(missed.flatMap(\.configuredModels).map { ObjectIdentifier($0) })
        let new = committedSections
        let newGeneration = collection.generation
        let keys = Set(new.map(\.key))
        if haveTitlesChanged(where: { keys.contains(sections[$0].key) }) { return reloadStep }
        let plan =
            isShowing(new) ? nil : BatchPlan(from: sections.map(\.ids), to: new.map(\.ids), updated: updated)
        if let plan, plan.count > collection.resetLimit { return reloadStep }
        pending = []
        isDiverged = false
        return TableStep(
            batch: plan.map { TableBatch($0) } ?? TableBatch(),
            updates: plan?.updates.map(\.new) ?? paths(of: updated)
        ) { [self] in
            show(new, generation: newGeneration)
        }
    }

    private func isShowing(_ others: [Section]) -> Bool {
        sections.count == others.count
            && zip(sections, others).allSatisfy { left, right in
                left.key == right.key && left.rows.elementsEqual(right.rows, by: ===)
            }
    }

    private func paths(of models: Set<ObjectIdentifier>) -> [RowPath] {
        if models.isEmpty { return [] }
        return sections.enumerated().flatMap { section, content in
            content.rows.indices.filter { models.contains(ObjectIdentifier(content.rows[$0])) }
                .map { RowPath(section: section, row: $0) }
        }
    }
}

extension ChangeSet {
    /// The models of all rows that a table configures for the change set. After a gesture, the table may already show
    /// them with older content.
    fileprivate var configuredModels: [Object] {
        updates.map(\.model) + insertions.map(\.model) + insertedSections.flatMap(\.models)
    }
}

extension CollectionContent.Section {
    fileprivate var ids: (key: String, rows: [ObjectIdentifier]) { (key, rows.map { ObjectIdentifier($0) }) }
}
