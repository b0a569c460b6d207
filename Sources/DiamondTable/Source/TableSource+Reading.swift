public import DiamondModel

extension TableSource {
    /// A path within a part, and the position of the part in the table.
    struct PartLocation {
        let part: any PartContent
        let number: Int
        /// The number of sections before the part.
        let offset: Int
        var path: RowPath
    }

    /// The number of sections.
    public var numberOfSections: Int { parts.reduce(0) { $0 + $1.sectionCount } }

    /// Returns the number of rows in a section, or 0 if there is no such section.
    public func numberOfRows(in section: Int) -> Int {
        guard let location = location(ofSection: section) else { return 0 }
        return location.part.rowCount(in: location.path.section)
    }

    /// The number of rows in all sections.
    var numberOfRows: Int {
        parts.reduce(0) { sum, part in (0..<part.sectionCount).reduce(sum) { $0 + part.rowCount(in: $1) } }
    }

    /// Returns the model or value of a row, or `nil` if there is no such row.
    public func representedObject(at path: RowPath) -> Any? { location(of: path).map { $0.part.object(at: $0.path) } }

    /// Returns the path of the first row with a model or an equal value, or `nil`.
    ///
    /// Takes logarithmic time for a row of a collection without pending changes, and linear time otherwise.
    public func path(of object: Any) -> RowPath? {
        var sections = 0
        for part in parts {
            if let path = part.path(of: object) { return path.offset(by: sections) }
            sections += part.sectionCount
        }
        return nil
    }

    /// Returns the identity of a row. It is unique in the table, and stays the same when the row moves or changes.
    public func rowID(at path: RowPath) -> AnyHashable? { key(at: path) }

    /// Returns the title of a section: the title of the collection's section, or the header of the part.
    public func title(of section: Int) -> String? {
        location(ofSection: section).flatMap { $0.part.title(of: $0.path.section) }
    }

    /// Returns the footer of a section.
    public func footer(of section: Int) -> String? {
        location(ofSection: section).flatMap { $0.part.footer(of: $0.path.section) }
    }

    // MARK: Index titles

    /// The distinct titles for the section index of the table.
    public var sectionIndexTitles: [String] {
        var seen: Set<String> = []
        return indexTitles.compactMap(\.title).filter { seen.insert($0).inserted }
    }

    /// Returns the section for an index title: the first with that title, or the last that sorts before it.
    public func section(forIndexTitle title: String) -> Int {
        let titles = indexTitles
        if let index = titles.firstIndex(where: { $0.title == title }) { return index }
        let before = titles.lastIndex { other in other.title.map { other.part.precedes($0, title) } ?? false }
        return before ?? titles.firstIndex { $0.title != nil } ?? 0
    }

    private var indexTitles: [(part: any PartContent, title: String?)] {
        parts.flatMap { part in
            (0..<part.sectionCount).map { section in
                (part, part.indexTitle(of: section).flatMap { $0.isEmpty ? nil : $0 })
            }
        }
    }

    // MARK: Places

    /// Returns the location of row 0 of a section, even if the section is empty.
    func location(ofSection section: Int) -> PartLocation? {
        guard section >= 0 else { return nil }
        var offset = 0
        for (number, part) in parts.enumerated() {
            let count = part.sectionCount
            if section < offset + count {
                return PartLocation(
                    part: part, number: number, offset: offset, path: RowPath(section: section - offset, row: 0))
            }
            offset += count
        }
        return nil
    }

    func location(of path: RowPath) -> PartLocation? {
        guard var location = location(ofSection: path.section) else { return nil }
        location.path.row = path.row
        return location.part.contains(location.path) ? location : nil
    }

    func key(at path: RowPath) -> RowKey? {
        location(of: path).map { RowKey(part: $0.number, id: $0.part.id(at: $0.path)) }
    }

    func path(of key: RowKey, object: Any) -> RowPath? {
        let sections = parts[..<key.part].reduce(0) { $0 + $1.sectionCount }
        return parts[key.part].path(id: key.id, of: object)?.offset(by: sections)
    }
}
