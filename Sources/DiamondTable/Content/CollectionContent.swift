import DiamondModel

/// The sections of a collection, as they were last applied to the display.
final class CollectionContent<Object: Model>: PartContent {
    var didChange: () -> Void = {}
    struct Section {
        let key: String
        var rows: [Object]
    }

    let collection: ModelCollection<Object>
    let editing: RowEditing<Object>?
    private let header: String?
    private let footer: String?
    var sections: [Section] = []
    /// The collection's generation that was last applied.
    var generation = 0
    /// The change sets that are not applied yet.
    var pending: [ChangeSet<Object>] = []
    private static var maximumPending: Int { 100 }
    private var token: ObserverToken?
    /// The section rule that was last applied, and its number.
    private(set) var rule: SectionRule<Object>?
    private var ruleNumber = 0
    /// Whether a gesture has changed the rows since the generation was applied.
    var isDiverged = false

    init(
        _ collection: ModelCollection<Object>, header: String?, footer: String?, editing: RowEditing<Object>?
    ) {
        self.collection = collection
        self.header = header
        self.footer = footer
        self.editing = editing
        reload()
        token = collection.observe { [weak self] in self?.receive($0) }
    }

    private func receive(_ changes: ChangeSet<Object>) {
        // If change sets are missing, the next step reloads the table.
        if pending.count == Self.maximumPending { pending = [] }
        pending.append(changes)
        didChange()
    }

    /// Applies the state of the last commit.
    private func reload() {
        show(committedSections, generation: collection.generation)
        pending = []
        isDiverged = false
    }

    /// Stores the sections of a generation, and the current section rule.
    func show(_ sections: [Section], generation: Int) {
        self.sections = sections
        self.generation = generation
        rule = collection.sectionRule
        ruleNumber = collection.sectionRuleNumber
    }

    /// Returns whether titles of remaining sections have changed.
    func haveTitlesChanged(where stays: (Int) -> Bool) -> Bool {
        if ruleNumber == collection.sectionRuleNumber { return false }
        let new = collection.sectionRule
        return sections.indices.contains { section in
            guard stays(section) else { return false }
            let key = sections[section].key
            return title(of: section) != title(of: key, by: new) || footer(by: rule) != footer(by: new)
                || rule?.indexTitle(key) != new?.indexTitle(key)
        }
    }

    var committedSections: [Section] {
        collection.committedSections.map { Section(key: $0.key, rows: $0.models) }
    }

    // MARK: Reading

    var sectionCount: Int { sections.count }
    func rowCount(in section: Int) -> Int { sections[section].rows.count }

    func object(at path: RowPath) -> Any { sections[path.section].rows[path.row] }

    func id(at path: RowPath) -> AnyHashable { ObjectIdentifier(sections[path.section].rows[path.row]) }

    func path(of object: Any) -> RowPath? {
        guard let model = object as? Object else { return nil }
        // The collection finds the path in logarithmic time. Usually the table shows the row at the same path.
        if let path = collection.path(of: model), contains(path), sections[path.section].rows[path.row] === model {
            return path
        }
        for (section, content) in sections.enumerated() {
            if let row = content.rows.firstIndex(where: { $0 === model }) { return RowPath(section: section, row: row) }
        }
        return nil
    }

    func title(of section: Int) -> String? {
        title(of: sections[section].key, by: rule)
    }

    private func title(of key: String, by rule: SectionRule<Object>?) -> String? {
        guard let rule else { return header }
        let title = rule.title(key)
        return title.isEmpty ? nil : title
    }

    func footer(of section: Int) -> String? { footer(by: rule) }

    private func footer(by rule: SectionRule<Object>?) -> String? { rule == nil ? footer : nil }

    func indexTitle(of section: Int) -> String? { rule?.indexTitle(sections[section].key) }

    func precedes(_ left: String, _ right: String) -> Bool { rule?.precedes(left, right) ?? (left < right) }

    // MARK: Changes

    func nextStep() -> TableStep? {
        if isDiverged { return correction() }
        while !pending.isEmpty {
            let changes = pending.removeFirst()
            if changes.newGeneration <= generation { continue }
            if changes.isReset || changes.oldGeneration != generation { return reloadStep }
            let deleted = Set(changes.deletedSections)
            if haveTitlesChanged(where: { !deleted.contains($0) }) { return reloadStep }
            if changes.isEmpty { show(sections, generation: changes.newGeneration); continue }
            return step(changes)
        }
        return nil
    }

    var reloadStep: TableStep { TableStep(needsReload: true) { [self] in reload() } }

    private func step(_ changes: ChangeSet<Object>) -> TableStep {
        let plan = changes.plan
        return TableStep(batch: TableBatch(plan), updates: plan.updates.map(\.new)) { [self] in
            sections.apply(changes)
            show(sections, generation: changes.newGeneration)
        }
    }
}
