extension CollectionCore {
    func section(for model: Model) -> SectionRecord {
        guard let sectionRule else { return sections[0] }
        return section(key: UnobservedReading.run { sectionRule.key(model) })
    }

    private func section(key: String) -> SectionRecord {
        if let section = sectionsByKey[key] { return section }
        let section = SectionRecord(key: key)
        sectionsByKey[key] = section
        // The others are sorted.
        let index = sections.partitionPoint { !(sectionRule?.precedes(key, $0.key) ?? false) }
        sections.insert(section, at: index)
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
    }
}
