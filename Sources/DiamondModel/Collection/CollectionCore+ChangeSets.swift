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
        let rows = snapshot == nil ? touchedRows(&changes) : allRows(&changes)
        let plan = BatchPlan(oldSections: changes.oldCounts, newSections: sections.map(\.oldIndex), rows: rows)
        if plan.count > resetLimit { changes.isReset = true; return changes }
        changes.plan = plan
        fill(&changes)
        return changes
    }

    /// Returns the touched rows. Their old paths come from the row lists.
    private func touchedRows(_ changes: inout CollectionChanges) -> [BatchPlan.RowChange] {
        for (index, section) in sections.enumerated() { section.index = index }
        return touched.compactMap { entry in
            let old = entry.oldRow.flatMap { row in
                row.section.oldIndex.map { RowPath(section: $0, row: row.section.rows.oldIndex(of: row)) }
            }
            let new = entry.row.map { row in
                RowPath(section: row.section.index, row: row.section.rows.newIndex(of: row))
            }
            return change(of: entry, from: old, to: new, isInPlace: entry.row === entry.oldRow, changes: &changes)
        }
    }

    /// Returns all rows, after everything was rearranged. Compares the old and new rows by Heckel's algorithm ("A
    /// technique for isolating differences between files", 1978). The entries are its symbols.
    private func allRows(_ changes: inout CollectionChanges) -> [BatchPlan.RowChange] {
        var olds: [ObjectIdentifier: (Entry, RowPath)] = [:]
        for (section, old) in (snapshot ?? []).enumerated() {
            for (row, entry) in old.entries.enumerated() {
                olds[ObjectIdentifier(entry)] = (entry, RowPath(section: section, row: row))
            }
        }
        var rows: [BatchPlan.RowChange] = []
        for (section, record) in sections.enumerated() {
            for (row, entry) in record.rows.entries.enumerated() {
                let old = olds.removeValue(forKey: ObjectIdentifier(entry))?.1
                let new = RowPath(section: section, row: row)
                change(of: entry, from: old, to: new, isInPlace: false, changes: &changes).map { rows.append($0) }
            }
        }
        for (entry, old) in olds.values {
            change(of: entry, from: old, to: nil, isInPlace: false, changes: &changes).map { rows.append($0) }
        }
        return rows
    }

    private func change(
        of entry: Entry, from old: RowPath?, to new: RowPath?, isInPlace: Bool, changes: inout CollectionChanges
    ) -> BatchPlan.RowChange? {
        let row = CollectionChanges.Row(model: entry.model, reason: entry.reason)
        if let old { changes.before[old] = row }
        if let new { changes.after[new] = row }
        if old == nil, new == nil { return nil }
        return BatchPlan.RowChange(old: old, new: new, isUpdated: entry.isUpdated, isInPlace: isInPlace)
    }

    /// Adds the models of inserted sections, and of untouched rows that move.
    private func fill(_ changes: inout CollectionChanges) {
        changes.insertedSections = changes.plan.insertedSections.map { index in
            let section = sections[index]
            return CollectionChanges.Section(
                index: index, key: section.key, models: section.rows.entries.map(\.model))
        }
        for move in changes.plan.moves where changes.after[move.new] == nil {
            changes.after[move.new] = CollectionChanges.Row(model: model(at: move.new), reason: .moved)
        }
    }
}
