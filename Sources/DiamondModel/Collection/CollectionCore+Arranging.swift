/// The arrangement of all rows at once.
extension CollectionCore {
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
        let visible = UnobservedReading.run { sorted(order.filter { isVisible($0.model) }, by: sorts[...]) }
        for entry in order {
            entry.chunk = nil
            entry.leavePlace()
            entry.pin = nil
        }
        for entry in visible where entry.hadRow { entry.reason = .moved }
        for (section, entries) in grouped(visible, reusing: old) {
            section.rows.rebuild(entries)
        }
    }

    /// Whether ``arrangeAll()`` would change nothing.
    var isArranged: Bool { UnobservedReading.run { hasRowsInOrder } }

    private var hasRowsInOrder: Bool {
        for section in sections {
            var last: Entry?
            for entry in section.rows.entries {
                let isInSection = sectionRule.map { $0.key(entry.model) == section.key } ?? true
                guard entry.pin == nil, isInSection, isVisible(entry.model) else { return false }
                if let last, !precedes(last, entry) { return false }
                last = entry
            }
        }
        return order.allSatisfy { $0.hasRow || !isVisible($0.model) }
    }

    /// Sorts entries that are in the insertion order.
    private func sorted(_ entries: [Entry], by rules: ArraySlice<SortRule>) -> [Entry] {
        guard let rule = rules.first else { return entries }
        let (order, ties) = rule.sort(entries.map(\.model), rules.count > 1)
        var sorted = order.map { entries[$0] }
        for tie in ties {
            sorted.replaceSubrange(tie, with: self.sorted(Array(sorted[tie]), by: rules.dropFirst()))
        }
        return sorted
    }

    /// Returns the entries by section, including empty sections.
    private func grouped(_ entries: [Entry], reusing old: [String: SectionRecord]) -> [(SectionRecord, [Entry])] {
        guard let sectionRule else { return [(sections[0], entries)] }
        var groups: [String: [Entry]] = [:]
        UnobservedReading.run {
            for entry in entries { groups[sectionRule.key(entry.model), default: []].append(entry) }
        }
        for section in sections where groups[section.key] == nil { groups[section.key] = [] }
        let keys = groups.keys.sorted { sectionRule.precedes($0, $1) }
        sections = keys.map { sectionsByKey[$0] ?? old[$0] ?? SectionRecord(key: $0) }
        sectionsByKey = Dictionary(uniqueKeysWithValues: zip(keys, sections))
        return sections.map { ($0, groups[$0.key] ?? []) }
    }
}
