import Diamond

extension CollectionCore {
    /// The position for a new model.
    enum Position {
        /// The end of the insertion order. The row's index follows from the sort rules.
        case sorted
        /// An index among the visible rows, regardless of the sort rules.
        case index(Int)
        /// Before an entry in the insertion order, or at its end for `nil`. The row's index follows from the sort
        /// rules.
        case before(Entry?)
        /// The end of the insertion order. All rows are arranged afterwards.
        case unarranged
    }

    // MARK: Adding

    /// Adds a model.
    ///
    /// - Returns: Whether it was not in the collection before.
    func add(_ model: Model, at position: Position, reason: ChangeReason) throws -> Bool {
        if entry(of: model) != nil { return false }
        if case .index(let index) = position { try check(index, within: visibleCount) }
        try admit([model])
        transaction { insert(revivedEntry(of: model) ?? Entry(model, in: self), at: position, reason: reason) }
        return true
    }

    /// Adds models that are not in the collection: all or none.
    func add(_ models: [Model]) throws {
        try admit(models)
        transaction {
            for model in models {
                insert(revivedEntry(of: model) ?? Entry(model, in: self), at: .sorted, reason: .added)
            }
        }
    }

    /// Checks whether models may be added, and registers them with the context: all or none.
    ///
    /// - Parameter gone: The entries that they replace.
    func admit(_ models: [Model], replacing gone: [Entry] = []) throws {
        let gone = Set(gone.map(ObjectIdentifier.init))
        let context = context ?? (gone.count == entries.count ? models.first?.context : nil)
        var ids: [ModelID: Model] = [:]
        for model in models {
            let id = model.untrackedID
            let other = entries[id].flatMap { gone.contains(ObjectIdentifier($0)) ? nil : $0.model } ?? ids[id]
            if let other, other !== model { throw ModelError.duplicate(id) }
            if models.count > 1 { ids[id] = model }
            if let context {
                try context.checkRegistration(of: model)
            } else if model.context != nil {
                throw ModelError(.otherContext, "\(id) is in a context, and the collection has copies: add a copy")
            }
        }
        self.context = context
        if let context { for model in models { try context.register(model) } }
    }

    /// Cancels an unsent deletion of a model that is added again.
    ///
    /// - Returns: Whether there was one.
    private func cancelDeletion(of model: Model) -> Bool {
        model.tracking.isDestroyed = false
        guard let context, !context.order.deleted.isEmpty else { return false }
        return context.order.deleted.remove(ModelKey(Swift.type(of: model), model.untrackedID)) != nil
    }

    /// Returns the entry of a model that was removed in this transaction, and makes it a member again.
    func revivedEntry(of model: Model) -> Entry? {
        for link in model.tracking.links {
            guard let entry = link.takeUnretainedValue() as? Entry, entry.owner === self else { continue }
            entry.isMember = true
            return entry
        }
        return nil
    }

    func insert(_ entry: Entry, at position: Position, reason: ChangeReason) {
        membersWillChange()
        let wasDeleted = cancelDeletion(of: entry.model)
        enter(entry)
        report([.added(entry.model, self, wasDeleted: wasDeleted)])
        switch position {
        case .sorted: order.append(entry)
        case .before(let next): order.insert(entry, before: next)
        case .unarranged:
            order.append(entry)
            entry.reason = reason
            if entry.hadRow { entry.isUpdated = true }
            return touch(entry)
        case .index(let index):
            order.insert(entry, before: visibleEntry(at: index))
            return show(entry, at: index, reason: reason)
        }
        if isVisible(entry.model) { place(entry, reason: reason) } else { touch(entry) }
    }

    /// Adds a removed model at its old position in the insertion order. If its row was pinned, also restores the index.
    func reinsert(_ model: Model, before next: Entry?, pinnedAt index: Int?) {
        transaction {
            let entry = revivedEntry(of: model) ?? Entry(model, in: self)
            insert(entry, at: .before(next), reason: .added)
            guard let index, entry.hasRow else { return }
            removeRow(of: entry, reason: .added)
            show(entry, at: index, reason: .added)
        }
    }

    /// Replaces a model by another one with the same id.
    func replace(_ old: Entry, with model: Model) {
        let next = old.next
        let isThere = entry(of: model) != nil
        transaction {
            remove(old, reason: .replaced)
            if !isThere {
                insert(revivedEntry(of: model) ?? Entry(model, in: self), at: .before(next), reason: .replaced)
            }
        }
    }

    /// Returns the entry of the row at an index, or `nil` at the end.
    private func visibleEntry(at index: Int) -> Entry? {
        guard index < visibleCount else { return nil }
        let path = path(at: index)
        return sections[path.section].rows[path.row]
    }

    /// Shows an entry at an index, or as near to it as its section allows. Without sort rules, that is its place in the
    /// insertion order. With sort rules, the row is pinned.
    private func show(_ entry: Entry, at index: Int, reason: ChangeReason) {
        guard isVisible(entry.model) else { return touch(entry) }
        // The rows are in insertion order, so the index is the position.
        if sorts.isEmpty, sectionRule == nil { return put(entry, in: sections[0], at: index, reason: reason) }
        if sorts.isEmpty { return place(entry, reason: reason) }
        let section = section(for: entry.model)
        let start = sections.firstIndex { $0 === section }.map { offsets[$0] } ?? 0
        put(entry, in: section, at: min(max(index - start, 0), section.rows.count), reason: reason)
        entry.pin = UnobservedReading.run { sorts.map { $0.sameValue?(entry.model) } }
    }

    // MARK: Removing

    func remove(_ entry: Entry, reason: ChangeReason = .removed) {
        guard entry.isMember else { return }
        report(Edit.removed, entry)
        transaction {
            membersWillChange()
            touch(entry)
            removeRow(of: entry, reason: reason)
            entry.reason = reason
            entry.isMember = false
            entry.pin = nil
            order.remove(entry)
            forget(entry)
        }
    }

    func removeAll(where isRemoved: (Model) -> Bool) -> [Model] {
        let gone = Array(order).filter { isRemoved($0.model) }
        transaction {
            for entry in gone { remove(entry) }
        }
        return gone.map(\.model)
    }

    // MARK: Moving

    /// Moves a row. `target` is its index after the move.
    func move(from index: Int, to target: Int, reason: ChangeReason = .moved) throws {
        try check(index, within: visibleCount - 1)
        try check(target, within: visibleCount - 1)
        guard index != target, let entry = visibleEntry(at: index) else { return }
        report(Edit.moved, entry)
        transaction {
            hasChangedMembers = true
            removeRow(of: entry, reason: reason)
            order.remove(entry)
            order.insert(entry, before: visibleEntry(at: target))
            show(entry, at: target, reason: reason)
        }
    }

    func swapAt(_ first: Int, _ second: Int) throws {
        let low = min(first, second)
        let high = max(first, second)
        try check(low, within: visibleCount - 1)
        try check(high, within: visibleCount - 1)
        guard low != high else { return }
        try transaction {
            try move(from: high, to: low, reason: .exchanged)
            try move(from: low + 1, to: high, reason: .exchanged)
        }
    }

    /// Replaces the model of a row, and returns the old one.
    func replace(at index: Int, with model: Model) throws -> Model {
        try check(index, within: visibleCount - 1)
        guard let old = visibleEntry(at: index) else { throw ModelError(.outOfRange, "there is no row \(index)") }
        if old.model === model { return model }
        if entry(of: model) != nil { throw ModelError.duplicate(model.untrackedID) }
        try admit([model], replacing: [old])
        transaction {
            remove(old, reason: .replaced)
            insert(revivedEntry(of: model) ?? Entry(model, in: self), at: .index(index), reason: .replaced)
        }
        return old.model
    }

    func check(_ index: Int, within last: Int) throws {
        guard index >= 0, index <= last else {
            throw ModelError(
                .outOfRange, "the index \(index) is out of range: the collection has \(visibleCount) rows")
        }
    }

    // MARK: Filters and order

    /// Updates the rows after a change of the filters.
    func filtersDidChange() {
        let changed = order.filter { isVisible($0.model) != $0.hasRow }
        if changed.isEmpty { return }
        transaction {
            if changed.count > entries.count / 5, changed.count > 100 { return rearrange(changed) }
            for entry in changed {
                if entry.hasRow {
                    removeRow(of: entry, reason: .filtered)
                } else {
                    place(entry, reason: .unfiltered)
                }
            }
        }
    }

    private func rearrange(_ changed: [Entry]) {
        arrangeAll()
        for entry in changed { entry.reason = entry.hasRow ? .unfiltered : .filtered }
    }

    /// Sorts all rows again, including pinned ones.
    func sort() {
        transaction {
            arrangeAll()
        }
    }
}
