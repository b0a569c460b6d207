import Diamond

extension CollectionCore {
    /// Returns the changes of the current transaction, before its commit.
    func changes() -> CollectionChanges {
        var changes = CollectionChanges()
        changes.newGeneration = generation + 1
        changes.origin = origin
        changes.newCounts = sections.map(\.rows.count)
        changes.oldCounts = snapshot?.map(\.entries.count) ?? committed.map(\.rows.oldCount)
        if snapshot == nil, touched.count > resetLimit {
            changes.isReset = true
            return changes
        }
        guard let rows = snapshot.map(rows(since:)) ?? touchedRows(&changes) else {
            changes.isReset = true
            return changes
        }
        let plan = BatchPlan(oldSections: changes.oldCounts, newSections: sections.map(\.oldIndex), rows: rows)
        if plan.count > resetLimit { changes.isReset = true; return changes }
        changes.plan = plan
        fill(&changes)
        return changes
    }

    /// Returns the touched rows. Their old paths come from the row lists.
    private func touchedRows(_ changes: inout CollectionChanges) -> [BatchPlan.RowChange]? {
        for (index, section) in sections.enumerated() { section.index = index }
        return touched.compactMap { entry in
            let old = entry.oldRow.flatMap { row in
                row.section.oldIndex.map { RowPath(section: $0, row: row.section.rows.oldIndex(of: row)) }
            }
            let new = entry.row.map { row in
                RowPath(section: row.section.index, row: row.section.rows.newIndex(of: row))
            }
            if let old { changes.before[old] = CollectionChanges.Row(entry) }
            if let new { changes.after[new] = CollectionChanges.Row(entry) }
            return change(of: entry, from: old, to: new, isInPlace: entry.row === entry.oldRow)
        }
    }

    /// Returns all rows, after everything was rearranged. Compares the old and new rows by Heckel's algorithm ("A
    /// technique for isolating differences between files", 1978). The entries are its symbols.
    ///
    /// - Returns: `nil` if it is obvious that there are more moves than a change set may have.
    private func rows(since snapshot: [(section: SectionRecord, entries: [Entry])]) -> [BatchPlan.RowChange]? {
        var olds: [ObjectIdentifier: (Entry, RowPath)] = [:]
        olds.reserveCapacity(snapshot.reduce(0) { $0 + $1.entries.count })
        for (section, old) in snapshot.enumerated() {
            for (row, entry) in old.entries.enumerated() {
                olds[ObjectIdentifier(entry)] = (entry, RowPath(section: section, row: row))
            }
        }
        var rows: [BatchPlan.RowChange] = []
        for (section, record) in sections.enumerated() {
            for (row, entry) in record.rows.entries.enumerated() {
                let old = olds.removeValue(forKey: ObjectIdentifier(entry))?.1
                let new = RowPath(section: section, row: row)
                change(of: entry, from: old, to: new, isInPlace: false).map { rows.append($0) }
            }
        }
        if sections.count == 1, snapshot.count == 1, sections[0].oldIndex == 0, hasManyMoves(rows) { return nil }
        for (entry, old) in olds.values {
            change(of: entry, from: old, to: nil, isInPlace: false).map { rows.append($0) }
        }
        return rows
    }

    /// Returns whether more rows of a section are out of order than a change set may have. The rows are in their new
    /// order. Of two neighbors in the wrong order, at least one moves.
    private func hasManyMoves(_ rows: [BatchPlan.RowChange]) -> Bool {
        var moves = 0
        var last: Int?
        for old in rows.lazy.compactMap({ $0.old?.row }) {
            if let before = last, before > old {
                moves += 1
                last = nil
            } else {
                last = old
            }
        }
        return moves > resetLimit
    }

    private func change(
        of entry: Entry, from old: RowPath?, to new: RowPath?, isInPlace: Bool
    ) -> BatchPlan.RowChange? {
        if old == nil, new == nil { return nil }
        return BatchPlan.RowChange(old: old, new: new, isUpdated: entry.isUpdated, isInPlace: isInPlace)
    }

    /// Adds the models of inserted sections, of all rows with operations after a rearrangement, and of untouched rows
    /// that move.
    private func fill(_ changes: inout CollectionChanges) {
        changes.insertedSections = changes.plan.insertedSections.map { index in
            let section = sections[index]
            return CollectionChanges.Section(
                index: index, key: section.key, models: section.rows.entries.map(\.model))
        }
        if let snapshot {
            for path in changes.plan.deletions {
                changes.before[path] = CollectionChanges.Row(snapshot[path.section].entries[path.row])
            }
            let pairs = changes.plan.moves + changes.plan.updates
            for path in changes.plan.insertions + pairs.map(\.new) {
                changes.after[path] = CollectionChanges.Row(sections[path.section].rows[path.row])
            }
        }
        for move in changes.plan.moves where changes.after[move.new] == nil {
            changes.after[move.new] = CollectionChanges.Row(model: model(at: move.new), reason: .moved)
        }
    }
}

extension CollectionChanges.Row {
    fileprivate init(_ entry: Entry) { self.init(model: entry.model, reason: entry.reason) }
}
