import Diamond

extension CollectionCore {
    /// The base position of a model that is put in.
    enum Position {
        /// At the end, on show by the sort rules.
        case sorted
        /// At an index on show, whatever the sort rules say.
        case index(Int)
        /// Before an entry in the insertion order, or at its end, on show by the sort rules.
        case before(Entry?)
    }

    // MARK: Putting in

    /// Puts a model in.
    ///
    /// - Returns: whether it was not in the collection before.
    func add(_ model: Model, at position: Position, _ reason: ChangeReason) throws -> Bool {
        if entry(of: model) != nil { return false }
        if case .index(let index) = position { try check(index, within: visibleCount) }
        try admit([model])
        transaction { insert(revived(model) ?? Entry(model, in: self), at: position, reason) }
        return true
    }

    /// Puts in models that are not there, all or none.
    func add(_ models: [Model]) throws {
        try admit(models)
        transaction {
            for model in models { insert(revived(model) ?? Entry(model, in: self), at: .sorted, .added) }
        }
    }

    /// Checks whether models may enter the collection, and registers them with the context: all or none.
    ///
    /// - Parameter gone: the entries that leave in exchange.
    func admit(_ models: [Model], for gone: [Entry] = []) throws {
        let gone = Set(gone.map(ObjectIdentifier.init))
        let context = context ?? (gone.count == entries.count ? models.first?.context : nil)
        var ids: [ModelID: Model] = [:]
        for model in models {
            let id = model.modelID
            let other = entries[id].flatMap { gone.contains(ObjectIdentifier($0)) ? nil : $0.model } ?? ids[id]
            if let other, other !== model { throw ModelError.duplicate(id) }
            if models.count > 1 { ids[id] = model }
            if let context {
                try context.checkRegistration(of: model)
            } else if model.context != nil {
                throw ModelError(.otherContext, "\(id) is of a context, and the collection's models are copies")
            }
        }
        self.context = context
        if let context { for model in models { try context.register(model) } }
    }

    /// Takes a deletion back that is not sent yet: the model is in a collection again.
    private func forgetDeletion(of model: Model, in context: ModelContext) {
        context.order.deleted.remove(ModelKey(Swift.type(of: model), model.modelID))
    }

    /// The entry of a model that left in this transaction, and is still kept for the change set.
    func revived(_ model: Model) -> Entry? {
        for link in model.tracking.links {
            guard let entry = link.takeUnretainedValue() as? Entry, entry.owner === self else { continue }
            entry.isMember = true
            return entry
        }
        return nil
    }

    func insert(_ entry: Entry, at position: Position, _ reason: ChangeReason) {
        hasChangedMembers = true
        if let context, !context.order.deleted.isEmpty { forgetDeletion(of: entry.model, in: context) }
        enter(entry)
        switch position {
        case .sorted: order.append(entry)
        case .before(let next): order.insert(entry, before: next)
        case .index(let index):
            order.insert(entry, before: base(at: index))
            return show(entry, at: index, reason)
        }
        if isVisible(entry.model) { place(entry, reason) } else { touch(entry) }
    }

    /// Puts a model back that has left: into its place in the insertion order, and where a row was put somewhere by hand, at
    /// its index.
    func putBack(_ model: Model, before next: Entry?, pinnedAt index: Int?) {
        transaction {
            let entry = revived(model) ?? Entry(model, in: self)
            insert(entry, at: .before(next), .added)
            guard let index, entry.row != nil else { return }
            takeAway(entry, .added)
            show(entry, at: index, .added)
        }
    }

    /// Puts a model in the place of one that has the same id by now.
    func substitute(_ old: Entry, by model: Model) {
        let next = old.next
        let isThere = entry(of: model) != nil
        transaction {
            remove(old, .replaced)
            if !isThere { insert(revived(model) ?? Entry(model, in: self), at: .before(next), .replaced) }
        }
    }

    /// The entry on show at an index, which a base position goes before; `nil` at the end.
    private func base(at index: Int) -> Entry? {
        guard index < visibleCount else { return nil }
        let path = path(at: index)
        return sections[path.section].rows[path.row]
    }

    /// Shows an entry at an index, as near to it as its section allows. Without sort rules that is its place by the
    /// insertion order; with them the row is pinned where it was put.
    private func show(_ entry: Entry, at index: Int, _ reason: ChangeReason) {
        guard isVisible(entry.model) else { return touch(entry) }
        // The insertion order is the order on show, so that the index is the place.
        if sorts.isEmpty, sectionRule == nil { return put(entry, in: sections[0], at: index, reason) }
        if sorts.isEmpty { return place(entry, reason) }
        let section = section(for: entry.model)
        let start = sections.firstIndex { $0 === section }.map { offsets[$0] } ?? 0
        put(entry, in: section, at: min(max(index - start, 0), section.rows.count), reason)
        entry.isPinned = true
    }

    // MARK: Taking out

    func remove(_ entry: Entry, _ reason: ChangeReason = .removed) {
        guard entry.isMember else { return }
        transaction {
            hasChangedMembers = true
            touch(entry)
            takeAway(entry, reason)
            entry.reason = reason
            entry.isMember = false
            entry.isPinned = false
            order.remove(entry)
            forget(entry)
        }
    }

    func removeAll(where isRemoved: (Model) -> Bool) -> [Model] {
        let gone = order.filter { isRemoved($0.model) }
        transaction {
            for entry in gone { remove(entry) }
        }
        return gone.map(\.model)
    }

    // MARK: Moving

    /// Moves the row at an index to the index that it has afterwards.
    func move(from index: Int, to target: Int, _ reason: ChangeReason = .moved) throws {
        try check(index, within: visibleCount - 1)
        try check(target, within: visibleCount - 1)
        guard index != target, let entry = base(at: index) else { return }
        transaction {
            hasChangedMembers = true
            takeAway(entry, reason)
            order.remove(entry)
            order.insert(entry, before: base(at: target))
            show(entry, at: target, reason)
        }
    }

    func exchange(_ first: Int, _ second: Int) throws {
        let (low, high) = (min(first, second), max(first, second))
        try check(low, within: visibleCount - 1)
        try check(high, within: visibleCount - 1)
        guard low != high else { return }
        try transaction {
            try move(from: high, to: low, .exchanged)
            try move(from: low + 1, to: high, .exchanged)
        }
    }

    /// Puts a model in the place of another.
    func replace(at index: Int, with model: Model) throws -> Model {
        try check(index, within: visibleCount - 1)
        guard let old = base(at: index) else { throw ModelError(.outOfRange, "there is no row \(index)") }
        if old.model === model { return model }
        if entry(of: model) != nil { throw ModelError.duplicate(model.modelID) }
        try admit([model], for: [old])
        transaction {
            remove(old, .replaced)
            insert(revived(model) ?? Entry(model, in: self), at: .index(index), .replaced)
        }
        return old.model
    }

    func check(_ index: Int, within last: Int) throws {
        guard index >= 0, index <= last else {
            throw ModelError(
                .outOfRange, "there is no place \(index): the collection shows \(visibleCount) rows")
        }
    }

    // MARK: Filters and order

    /// Shows and hides rows after a change of the filters.
    func filtersDidChange() {
        let changed = order.filter { isVisible($0.model) != ($0.row != nil) }
        if changed.isEmpty { return }
        transaction {
            if changed.count > entries.count / 5, changed.count > 100 { return rearrange(changed) }
            for entry in changed {
                if entry.row == nil { place(entry, .unfiltered) } else { takeAway(entry, .filtered) }
            }
        }
    }

    private func rearrange(_ changed: [Entry]) {
        arrangeAll()
        for entry in changed { entry.reason = entry.row == nil ? .filtered : .unfiltered }
    }

    /// Sorts all rows again, which pinned rows give their places up for.
    func sort() {
        transaction {
            arrangeAll()
        }
    }
}
