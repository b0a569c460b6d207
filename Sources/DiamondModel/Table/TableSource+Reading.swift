extension TableSource {
    /// A part, its number, the number of sections before it, and a path in it.
    struct Place {
        let part: PartContent
        let number: Int
        let offset: Int
        let path: RowPath
    }

    /// The number of sections that are applied.
    public var numberOfSections: Int { parts.reduce(0) { $0 + $1.sectionCount } }

    /// Returns the number of rows in a section; 0 for a section that is not there.
    public func numberOfRows(in section: Int) -> Int {
        guard let place = place(ofSection: section) else { return 0 }
        return place.part.rowCount(in: place.path.section)
    }

    /// The number of rows in all sections.
    var numberOfRows: Int {
        parts.reduce(0) { sum, part in (0..<part.sectionCount).reduce(sum) { $0 + part.rowCount(in: $1) } }
    }

    /// Returns the model or value that a row represents; `nil` where there is no row.
    public func representedObject(at path: RowPath) -> Any? { place(of: path).map { $0.part.object(at: $0.path) } }

    /// Returns the path of the row that represents a model or an equal value; `nil` when there is none.
    ///
    /// The first of several. Logarithmic for a row of a collection without pending changes; linear otherwise, and for an object
    /// without a row.
    public func path(of object: Any) -> RowPath? {
        var sections = 0
        for part in parts {
            if let path = part.path(of: object) { return path.offset(by: sections) }
            sections += part.sectionCount
        }
        return nil
    }

    /// Returns an identity of a row, unique in the table, which it keeps while it moves or its content changes.
    public func rowID(at path: RowPath) -> AnyHashable? { key(at: path) }

    /// Returns the title of a section: that of the collection's section, or the header of the part.
    public func title(of section: Int) -> String? {
        place(ofSection: section).flatMap { $0.part.title(of: $0.path.section) }
    }

    /// Returns the footer of a section.
    public func footer(of section: Int) -> String? {
        place(ofSection: section).flatMap { $0.part.footer(of: $0.path.section) }
    }

    // MARK: Index titles

    /// The titles for the index beside the table, each once.
    public var sectionIndexTitles: [String] {
        var seen: Set<String> = []
        return indexTitles.compactMap(\.title).filter { seen.insert($0).inserted }
    }

    /// Returns the section that an index title leads to: the first with the title, or else the last that stands before it.
    public func section(forIndexTitle title: String) -> Int {
        let titles = indexTitles
        if let index = titles.firstIndex(where: { $0.title == title }) { return index }
        let before = titles.lastIndex { other in other.title.map { other.part.precedes($0, title) } ?? false }
        return before ?? titles.firstIndex { $0.title != nil } ?? 0
    }

    private var indexTitles: [(part: PartContent, title: String?)] {
        parts.flatMap { part in
            (0..<part.sectionCount).map { section in
                (part, part.indexTitle(of: section).flatMap { $0.isEmpty ? nil : $0 })
            }
        }
    }

    // MARK: Places

    /// The place of a section, with row 0, whether it has rows or not.
    func place(ofSection section: Int) -> Place? {
        guard section >= 0 else { return nil }
        var offset = 0
        for (number, part) in parts.enumerated() {
            let count = part.sectionCount
            if section < offset + count {
                return Place(
                    part: part, number: number, offset: offset, path: RowPath(section: section - offset, row: 0))
            }
            offset += count
        }
        return nil
    }

    func place(of path: RowPath) -> Place? {
        guard let place = place(ofSection: path.section) else { return nil }
        let own = RowPath(section: place.path.section, row: path.row)
        guard place.part.contains(own) else { return nil }
        return Place(part: place.part, number: place.number, offset: place.offset, path: own)
    }

    func key(at path: RowPath) -> RowKey? {
        place(of: path).map { RowKey(part: $0.number, id: $0.part.id(at: $0.path)) }
    }

    func path(of key: RowKey, _ object: Any) -> RowPath? {
        let sections = parts[..<key.part].reduce(0) { $0 + $1.sectionCount }
        return parts[key.part].path(id: key.id, of: object)?.offset(by: sections)
    }
}
