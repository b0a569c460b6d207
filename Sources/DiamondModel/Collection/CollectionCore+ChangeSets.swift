import Diamond

extension CollectionCore {
    /// Returns the changes of the current transaction, before its commit.
    func changes() -> CollectionChanges {
        let changes = CollectionChanges()
        changes.newGeneration = generation + 1
        changes.origin = origin
        changes.oldCounts = oldCounts
        changes.newCounts = hasSameRows ? oldCounts : sections.map(\.rows.count)
        if snapshot == nil, touched.count > resetLimit {
            changes.isReset = true
            return changes
        }
        if hasSameRows {
            for entry in touched { entry.section?.path(newOf: entry).map { changes.after.append(entry, at: $0) } }
            changes.after.sort()
            changes.plan = BatchPlan(updates: changes.after.paths)
            return changes
        }
        guard let rows = snapshot.map(rows(since:)) ?? touchedRows(changes) else {
            changes.isReset = true
            return changes
        }
        let plan = BatchPlan(
            oldSections: oldCounts, newSections: hasOtherSections ? sections.map(\.oldIndex) : nil, rows: rows)
        if plan.count > resetLimit { changes.isReset = true; return changes }
        changes.plan = plan
        fill(changes)
        return changes
    }

    /// Whether no rows were inserted, removed or moved in this transaction.
    private var hasSameRows: Bool { !hasOtherSections && snapshot == nil && changedSections.isEmpty }

    /// Returns the touched rows. Their old paths come from the row lists.
    private func touchedRows(_ changes: CollectionChanges) -> [BatchPlan.RowChange] {
        for (index, section) in sections.enumerated() where hasOtherSections { section.index = index }
        var rows: [BatchPlan.RowChange] = []
        rows.reserveCapacity(touched.count)
        for entry in touched {
            let old = entry.oldChunk?.section.path(oldOf: entry)
            let new = entry.section?.path(newOf: entry)
            if old == nil, new == nil { continue }
            if let old, hasOtherSections || !entry.hasRow { changes.before.append(entry, at: old) }
            if let new { changes.after.append(entry, at: new) }
            rows.append(
                BatchPlan.RowChange(old: old, new: new, isUpdated: entry.isUpdated, isInPlace: entry.isStill))
        }
        changes.before.sort()
        changes.after.sort()
        return rows
    }

    /// Returns the rows of sections that exist before and after the changes, after everything was rearranged. Compares
    /// the old and new rows by Heckel's algorithm ("A technique for isolating differences between files", 1978). The
    /// entries are its symbols.
    ///
    /// - Returns: `nil` if it is obvious that there are more moves than a change set may have.
    private func rows(since snapshot: [(section: SectionRecord, entries: [Entry])]) -> [BatchPlan.RowChange]? {
        let remaining = snapshot.map { sectionsByKey[$0.section.key] === $0.section }
        var paths: [RowPath] = []
        defer { for old in snapshot { for entry in old.entries { entry.mark = -1 } } }
        for (section, old) in snapshot.enumerated() where remaining[section] {
            for (row, entry) in old.entries.enumerated() {
                entry.mark = Int32(paths.count)
                paths.append(RowPath(section: section, row: row))
            }
        }
        var rows: [BatchPlan.RowChange] = []
        func add(_ entry: Entry, movedTo new: RowPath?) {
            let old = entry.mark < 0 ? nil : paths[Int(entry.mark)]
            entry.mark = -1
            if old == nil, new == nil { return }
            rows.append(BatchPlan.RowChange(old: old, new: new, isUpdated: entry.isUpdated, isInPlace: false))
        }
        for (section, record) in sections.enumerated() {
            for (row, entry) in record.rows.entries.enumerated() {
                add(entry, movedTo: record.oldIndex == nil ? nil : RowPath(section: section, row: row))
            }
        }
        if sections.count == 1, snapshot.count == 1, sections[0].oldIndex == 0, hasManyMoves(rows) { return nil }
        // The rows that have left.
        for (section, old) in snapshot.enumerated() where remaining[section] {
            for entry in old.entries where entry.mark >= 0 { add(entry, movedTo: nil) }
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

    /// Adds the models of inserted sections, of all rows with operations after a rearrangement, and of untouched rows
    /// that move.
    private func fill(_ changes: CollectionChanges) {
        changes.insertedSections = changes.plan.insertedSections.map { index in
            let section = sections[index]
            return CollectionChanges.Section(
                index: index, key: section.key, models: section.rows.entries.map(\.model))
        }
        if let snapshot {
            for path in changes.plan.deletions {
                changes.before.append(snapshot[path.section].entries[path.row], at: path)
            }
            let pairs = changes.plan.moves + changes.plan.updates
            for path in changes.plan.insertions + pairs.map(\.new) {
                changes.after.append(sections[path.section].rows[path.row], at: path)
            }
            changes.before.sort()
            changes.after.sort()
        }
        let untouched = changes.plan.moves.filter { changes.after[$0.new] == nil }
        if untouched.isEmpty { return }
        for move in untouched { changes.after.append(model(at: move.new), reason: .moved, at: move.new) }
        changes.after.sort()
    }
}

extension CollectionChanges.Rows {
    fileprivate mutating func append(_ entry: Entry, at path: RowPath) {
        append(entry.model, reason: entry.reason, at: path)
    }
}

extension SectionRecord {
    fileprivate func path(oldOf entry: Entry) -> RowPath? {
        guard let oldIndex, let row = rows.oldIndex(of: entry) else { return nil }
        return RowPath(section: oldIndex, row: row)
    }

    fileprivate func path(newOf entry: Entry) -> RowPath? {
        rows.newIndex(of: entry).map { RowPath(section: index, row: $0) }
    }
}
