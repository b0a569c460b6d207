import Diamond

extension CollectionCore {
    /// Returns whether a model passes all filters.
    func isVisible(_ model: Model) -> Bool {
        filters.isEmpty || UnobservedReading.run { filters.allSatisfy { $0(model) } }
    }

    /// Returns a function that tells whether another entry sorts before this one: by the sort rules, then by the
    /// insertion order.
    private func precedence(over entry: Entry) -> (Entry) -> Bool {
        let comparisons = sorts.map { $0.comparison(entry.model) }
        return { other in
            for compare in comparisons {
                let order = compare(other.model)
                if order != 0 { return order < 0 }
            }
            return other.label < entry.label
        }
    }

    /// Returns whether an entry sorts before another one: by the sort rules, then by the insertion order.
    func precedes(_ left: Entry, _ right: Entry) -> Bool {
        for rule in sorts {
            if rule.precedes(left.model, right.model) { return true }
            if rule.precedes(right.model, left.model) { return false }
        }
        return left.label < right.label
    }

    /// Inserts the row of a visible entry at its sorted position.
    func place(_ entry: Entry, reason: ChangeReason) {
        touch(entry)
        entry.pin = nil
        let section = section(for: entry.model)
        let index = UnobservedReading.run { section.rows.position(where: precedence(over: entry)) }
        put(entry, in: section, at: index, reason: reason)
        // The search has skipped the rows that wait, so this row is placed again with them.
        guard isWaiting, !sorts.isEmpty else { return }
        wait(for: entry)
        entry.isChanged = true
    }

    /// Inserts the row of a visible entry at an index of a section.
    func put(_ entry: Entry, in section: SectionRecord, at index: Int, reason: ChangeReason) {
        touch(entry)
        entry.reason = reason
        rowsWillChange(in: section)
        section.rows.insert(entry, at: index)
        // A row that left and came back in one transaction may have changed meanwhile.
        if entry.hadRow, reason != .moved, reason != .exchanged { entry.isUpdated = true }
    }

    func removeRow(of entry: Entry, reason: ChangeReason) {
        guard let section = entry.section else { return }
        touch(entry)
        entry.reason = reason
        entry.leavePlace()
        rowsWillChange(in: section)
        section.rows.remove(entry)
    }

    // MARK: Changes of models

    func modelDidChange(_ entry: Entry, event: ModelEvent) {
        guard event.depth <= observedDepth else { return }
        transaction {
            // A history also restores the values of a model that was removed in this transaction.
            guard entry.isMember else { return report(Edit.edits(in: event)) }
            if isWaiting {
                wait(for: entry)
                entry.isChanged = true
            } else {
                updateRow(of: entry)
            }
            forward(event)
        }
    }

    /// The row of a model that has changed.
    private enum Visibility {
        case hidden
        case entering
        case staying
    }

    /// Removes the row of a changed model that no longer passes the filters, and marks any other as updated.
    private func updateVisibility(of entry: Entry) -> Visibility {
        switch (entry.hasRow, isVisible(entry.model)) {
        case (false, true): return .entering
        case (true, false): removeRow(of: entry, reason: .filtered)
        case (false, false):
            // The row may return to its old place in this transaction.
            if entry.hadRow { noteUpdate(of: entry) }
        case (true, true):
            noteUpdate(of: entry)
            if entry.isStill, entry.reason != .updated { entry.reason = .updated }
            return .staying
        }
        return .hidden
    }

    private func updateRow(of entry: Entry) {
        switch updateVisibility(of: entry) {
        case .hidden: break
        case .entering: place(entry, reason: .unfiltered)
        case .staying:
            if isInPlace(entry) { return }
            removeRow(of: entry, reason: .moved)
            place(entry, reason: .moved)
        }
    }

    /// Updates the rows of models that have changed.
    ///
    /// If one is out of order, all rows leave before one enters: a search among the rows needs them in order.
    func updateRows(of changed: [Entry]) {
        var staying: [Entry] = []
        var entering: [Entry] = []
        for entry in changed where entry.isMember {
            switch updateVisibility(of: entry) {
            case .hidden: break
            case .entering: entering.append(entry)
            case .staying: staying.append(entry)
            }
        }
        if staying.contains(where: { !isInPlace($0) }) {
            if rearrangeMost(entering + staying) { return }
            let leaving = staying.filter { !$0.isPinned || !isInPlace($0) }
            // A row that is new in this transaction stays one that was added or was unfiltered.
            let reasons = leaving.map { $0.hadRow ? .moved : $0.reason }
            for entry in leaving { removeRow(of: entry, reason: .moved) }
            for (entry, reason) in zip(leaving, reasons) { place(entry, reason: reason) }
        } else if rearrangeMost(entering) {
            return
        }
        for entry in entering { place(entry, reason: .unfiltered) }
    }

    private func noteUpdate(of entry: Entry) {
        touch(entry)
        entry.isUpdated = true
    }

    /// Rearranges all rows if many of them have to be placed, and none was placed by index.
    private func rearrangeMost(_ placed: [Entry]) -> Bool {
        guard placed.count > 100, placed.count > entries.count / 5, !order.contains(where: \.isPinned) else {
            return false
        }
        let hidden = placed.filter { !$0.hasRow }
        arrangeAll()
        for entry in hidden { entry.reason = .unfiltered }
        return true
    }

    private func isInPlace(_ entry: Entry) -> Bool {
        guard let place = entry.section else { return false }
        if sectionRule != nil, place !== section(for: entry.model) { return false }
        if sorts.isEmpty { return true }
        let (before, after) = place.rows.neighbors(of: entry)
        return UnobservedReading.run {
            if let pin = entry.pin { return pin.allSatisfy { $0?(entry.model) ?? false } }
            return before.map { precedes($0, entry) } ?? true && after.map { precedes(entry, $0) } ?? true
        }
    }
}
