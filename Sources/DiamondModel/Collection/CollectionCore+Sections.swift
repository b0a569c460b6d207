extension CollectionCore {
    func section(for model: Model) -> SectionRecord {
        guard let sectionRule else { return sections[0] }
        return section(key: UnobservedReading.run { sectionRule.key(model) })
    }

    private func section(key: String) -> SectionRecord {
        if let section = sectionsByKey[key] { return section }
        let section = SectionRecord(key: key)
        sectionsByKey[key] = section
        sections.insert(section, at: index(ofSection: key))
        return section
    }

    /// Returns the index of a new section among the others, which are sorted.
    private func index(ofSection key: String) -> Int {
        var low = 0
        var high = sections.count
        while low < high {
            let middle = (low + high) / 2
            if sectionRule?.precedes(key, sections[middle].key) ?? false { high = middle } else { low = middle + 1 }
        }
        return low
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
    }
}
