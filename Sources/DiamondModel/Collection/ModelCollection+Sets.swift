extension ModelCollection {
    /// The depth of a copy of a collection.
    public enum CopyDepth: Sendable {
        /// The copy holds the same models.
        case collection
        /// The copy holds copies of the models, outside every context.
        case models
    }

    /// Returns a copy with the same filters, sort keys and sections.
    public func copy(_ depth: CopyDepth = .collection) -> ModelCollection {
        let copy = ModelCollection(context: depth == .collection ? context : nil)
        copy.copyRules(of: self)
        switch depth {
        case .collection: copy.core.share(core)
        case .models: copy.core.fillWithCopies(of: core)
        }
        copy.core.rejected = core.rejected
        return copy
    }

    private func copyRules(of other: ModelCollection) {
        filters = other.filters
        sortKeys = other.sortKeys
        sectionRule = other.sectionRule
        resetLimit = other.resetLimit
        observedDepth = other.observedDepth
        appliesPagesAtOnce = other.appliesPagesAtOnce
    }

    /// Adds the models of another collection whose ids are not in this one.
    ///
    /// - Throws: ``ModelError``: `otherContext` if a model belongs to another context; `duplicateID` if the context has
    ///   another live instance with its id. Nothing is changed then.
    public func formUnion(_ other: ModelCollection) throws {
        try core.add(other.core.allModels.filter { core.entries[$0.untrackedID] == nil })
    }

    /// Removes the models whose ids are not in another collection.
    public func formIntersection(_ other: ModelCollection) {
        removeAll { other.core.entries[$0.untrackedID] == nil }
    }

    /// Removes the models whose ids are in another collection.
    public func subtract(_ other: ModelCollection) {
        removeAll { other.core.entries[$0.untrackedID] != nil }
    }

    /// Returns a copy with the models of another collection, too.
    ///
    /// - Throws: ``ModelError`` as ``formUnion(_:)`` does.
    public func union(_ other: ModelCollection) throws -> ModelCollection { try copy { try $0.formUnion(other) } }

    /// Returns a copy with the models that are in both.
    public func intersection(_ other: ModelCollection) -> ModelCollection { copy { $0.formIntersection(other) } }

    /// Returns a copy without the models of another collection.
    public func subtracting(_ other: ModelCollection) -> ModelCollection { copy { $0.subtract(other) } }

    private func copy(_ change: (ModelCollection) throws -> Void) rethrows -> ModelCollection {
        let result = copy()
        try change(result)
        return result
    }
}
