extension ModelCollection: RandomAccessCollection {
    public var startIndex: Int { 0 }

    /// The number of visible models.
    public var endIndex: Int {
        track()
        return core.visibleCount
    }

    /// The visible model at an index, in logarithmic time.
    public subscript(index: Int) -> Object {
        track()
        precondition(
            index >= 0 && index < core.visibleCount, "the index \(index) is out of range: \(core.visibleCount) rows")
        return cast(core.model(at: core.path(at: index)))
    }

    public func makeIterator() -> IndexingIterator<[Object]> { models.makeIterator() }

    /// The visible models.
    public var models: [Object] {
        track()
        return core.visibleModels.map(cast)
    }

    /// All models in insertion order, including filtered ones.
    public var allModels: [Object] {
        track()
        return core.allModels.map(cast)
    }

    private func cast(_ model: Model) -> Object { unsafeDowncast(model, to: Object.self) }
}

extension ModelCollection {
    /// The model with an id, even if it is filtered out.
    public subscript(id id: ModelID) -> Object? {
        track()
        return core.entries[id].map { cast($0.model) }
    }

    /// The model at a path, or `nil` if there is none.
    public subscript(path: RowPath) -> Object? {
        track()
        return core.contains(path) ? cast(core.model(at: path)) : nil
    }

    /// Returns the path of a model, or `nil` if it is not visible.
    public func path(of model: Object) -> RowPath? {
        track()
        return core.path(of: model)
    }

    /// Returns the index of a model, or `nil` if it is not visible.
    public func index(of model: Object) -> Int? {
        track()
        return core.index(of: model)
    }

    /// Returns whether a model is in the collection, visible or not.
    public func contains(_ model: Object) -> Bool {
        track()
        return core.entry(of: model) != nil
    }

    /// The keys of the sections and their models at the last commit. An open transaction does not change them.
    package var committedSections: [(key: String, models: [Object])] {
        let sections = core.snapshot ?? core.committed.map { (section: $0, entries: $0.rows.oldEntries) }
        return sections.map { ($0.section.key, $0.entries.map { cast($0.model) }) }
    }
}

// MARK: Sections

extension ModelCollection {
    /// A section and its rows.
    public struct Section {
        public let key: String
        public let title: String
        public let indexTitle: String
        /// The indexes of the rows.
        public let indices: Range<Int>
    }

    /// The visible sections. One without a ``sectionRule``.
    public var sections: [Section] {
        track()
        let offsets = core.offsets
        return core.sections.enumerated().map { index, section in
            Section(
                key: section.key, title: sectionRule?.title(section.key) ?? "",
                indexTitle: sectionRule?.indexTitle(section.key) ?? "", indices: offsets[index]..<offsets[index + 1])
        }
    }

    /// The distinct titles for a table's section index.
    public var sectionIndexTitles: [String] {
        var seen: Set<String> = []
        return sections.map(\.indexTitle).filter { seen.insert($0).inserted }
    }

    /// Returns the section for an index title: the first with that title, or the last that sorts before it.
    public func section(forIndexTitle title: String) -> Int {
        let sections = sections
        if let index = sections.firstIndex(where: { $0.indexTitle == title }) { return index }
        let precedes = sectionRule?.precedes ?? { $0 < $1 }
        return sections.lastIndex { precedes($0.indexTitle, title) } ?? 0
    }
}
