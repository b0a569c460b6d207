import Diamond

extension CollectionCore {
    /// Returns whether a model passes all filters.
    func isVisible(_ model: Model) -> Bool { filters.allSatisfy { $0(model) } }

    /// Returns whether one entry sorts before another: by the sort rules, then by the insertion order.
    func precedes(_ left: Entry, _ right: Entry) -> Bool {
        for sort in sorts {
            switch sort.compare(left.model, right.model) {
            case ..<0: return true
            case 1...: return false
            default: continue
            }
        }
        return left.label < right.label
    }

    /// Inserts the row of a visible entry at its sorted position.
    func place(_ entry: Entry, reason: ChangeReason) {
        touch(entry)
        entry.isPinned = false
        let section = section(for: entry.model)
        let index = section.rows.position { precedes($0, entry) }
        put(entry, in: section, at: index, reason: reason)
    }

    /// Inserts the row of a visible entry at an index of a section.
    func put(_ entry: Entry, in section: SectionRecord, at index: Int, reason: ChangeReason) {
        touch(entry)
        entry.reason = reason
        entry.row = section.rows.insert(entry, at: index)
        // A row that left and came back in one transaction may have changed meanwhile.
        if entry.oldRow != nil, reason != .moved, reason != .exchanged { entry.isUpdated = true }
        sectionsDidChange()
    }

    func removeRow(of entry: Entry, reason: ChangeReason) {
        guard let row = entry.row else { return }
        touch(entry)
        entry.reason = reason
        row.section.rows.remove(row)
        entry.row = nil
        sectionsDidChange()
    }

    // MARK: Changes of models

    func modelDidChange(_ entry: Entry, event: ModelEvent) {
        guard entry.isMember, event.depth <= observedDepth else { return }
        transaction {
            updateRow(of: entry, after: event)
            forward(event)
        }
    }

    private func updateRow(of entry: Entry, after event: ModelEvent) {
        let isVisible = isVisible(entry.model)
        switch (entry.row, isVisible) {
        case (nil, true): place(entry, reason: .unfiltered)
        case (_?, false): removeRow(of: entry, reason: .filtered)
        case (nil, false):
            // The row may return to its old place in this transaction.
            if entry.oldRow != nil {
                touch(entry)
                entry.isUpdated = true
            }
        case (let row?, true):
            touch(entry)
            entry.isUpdated = true
            if entry.row === entry.oldRow, entry.reason != .updated { entry.reason = .updated }
            if !isInPlace(entry, row: row, after: event) {
                removeRow(of: entry, reason: .moved)
                place(entry, reason: .moved)
            }
        }
    }

    private func isInPlace(_ entry: Entry, row: RowList.Row, after event: ModelEvent) -> Bool {
        if sectionRule != nil, row.section !== section(for: entry.model) { return false }
        if sorts.isEmpty { return true }
        if entry.isPinned { return !sorts.contains { $0.isAffected(by: event) } }
        let rows = row.section.rows
        let index = rows.newIndex(of: row)
        if let before = neighbor(of: index, by: -1, in: rows), precedes(entry, before) { return false }
        if let after = neighbor(of: index, by: 1, in: rows), precedes(after, entry) { return false }
        return true
    }

    private func neighbor(of index: Int, by step: Int, in rows: RowList) -> Entry? {
        var index = index + step
        while (0..<rows.count).contains(index) {
            let entry = rows[index]
            if !entry.isPinned { return entry }
            index += step
        }
        return nil
    }

    // MARK: Sections

    func section(for model: Model) -> SectionRecord {
        guard let sectionRule else { return sections[0] }
        return section(key: sectionRule.key(model))
    }

    private func section(key: String) -> SectionRecord {
        if let section = sectionsByKey[key] { return section }
        let section = SectionRecord(key: key)
        sectionsByKey[key] = section
        let index = sections.firstIndex { sectionRule?.precedes(key, $0.key) ?? false } ?? sections.count
        sections.insert(section, at: index)
        sectionsDidChange()
        return section
    }

    /// Creates the sections of an empty collection.
    func makeSections() {
        sections = []
        sectionsByKey = [:]
        if let sectionRule {
            for key in sectionRule.permanentKeys { _ = section(key: key) }
        } else {
            _ = section(key: "")
        }
    }

    func dropEmptySections() {
        guard let sectionRule, !sectionRule.keepsEmptySections else { return }
        let empty = sections.filter { $0.rows.count == 0 && !sectionRule.permanentKeys.contains($0.key) }
        if empty.isEmpty { return }
        for section in empty { sectionsByKey[section.key] = nil }
        sections.removeAll { $0.rows.count == 0 && !sectionRule.permanentKeys.contains($0.key) }
        sectionsDidChange()
    }

    // MARK: Everything at once

    /// Rearranges all rows, after a change of the sort rules, the sections or most of the models.
    func arrangeAll() {
        takeSnapshot()
        let old = sectionsByKey
        makeSections()
        for (index, section) in sections.enumerated() {
            guard let known = old[section.key] else { continue }
            sections[index] = known
            sectionsByKey[section.key] = known
        }
        let visible = sorted(order.filter { isVisible($0.model) })
        for entry in order {
            entry.row = nil
            entry.isPinned = false
            if entry.oldRow != nil { entry.reason = .moved }
        }
        for (section, entries) in grouped(visible, reusing: old) {
            section.rows.rebuild(entries) { entry, row in entry.row = row }
        }
        sectionsDidChange()
    }

    private func sorted(_ entries: [Entry]) -> [Entry] {
        sorts.isEmpty ? entries : entries.sorted { precedes($0, $1) }
    }

    /// Returns the entries by section, including empty sections.
    private func grouped(_ entries: [Entry], reusing old: [String: SectionRecord]) -> [(SectionRecord, [Entry])] {
        guard let sectionRule else { return [(sections[0], entries)] }
        var groups: [String: [Entry]] = [:]
        for entry in entries { groups[sectionRule.key(entry.model), default: []].append(entry) }
        for section in sections where groups[section.key] == nil { groups[section.key] = [] }
        let keys = groups.keys.sorted { sectionRule.precedes($0, $1) }
        sections = keys.map { sectionsByKey[$0] ?? old[$0] ?? SectionRecord(key: $0) }
        sectionsByKey = Dictionary(uniqueKeysWithValues: zip(keys, sections))
        return sections.map { ($0, groups[$0.key] ?? []) }
    }
}
