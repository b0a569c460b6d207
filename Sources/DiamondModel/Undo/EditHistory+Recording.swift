extension EditHistory {
    /// Records the later edits of a model, of its nested models up to ``Model/observedDepth``, and of its nested
    /// collections.
    public func record(_ model: Model) {
        let token = model.observe { [weak self] event in
            guard let self else { return }
            add(Edit.edits(in: event))
            if event.changes.contains(where: \.property.isNested) { recordCollections(of: event.model) }
            close()
        }
        tokens.append(token)
        recordCollections(of: model)
    }

    /// Records the later edits of a collection, of its models, and of their nested collections: models that are added,
    /// removed or moved, and values.
    public func record<Object: Model>(_ collection: ModelCollection<Object>) { record(collection.core) }

    private func record(_ core: CollectionCore) {
        let token = core.editObservers.add { [weak self] report in self?.receive(report) }
        tokens.append(token)
    }

    private func recordCollections(of model: Model) {
        guard !model.tracking.isVisiting else { return }
        model.tracking.isVisiting = true
        defer { model.tracking.isVisiting = false }
        for slot in PropertyVisitor.slots(of: model) where slot.property.isNested {
            if let child = slot.property.nestedModel(in: slot.value) { recordCollections(of: child) }
            guard let core = slot.property.nestedCollection(in: slot.value),
                nested.updateValue(core, forKey: ObjectIdentifier(core)) == nil
            else { continue }
            record(core)
        }
    }

    private func receive(_ report: EditReport) {
        if let edits = report.edits { add(edits) } else if !report.isPartial { close() }
    }
}
