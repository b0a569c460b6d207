extension Array {
    /// Applies a change set, by what it says and nothing else. Only touched sections are rebuilt.
    mutating func apply<Object>(_ changes: ChangeSet<Object>) where Element == CollectionContent<Object>.Section {
        let leaving = Dictionary(grouping: changes.deletions.map(\.path) + changes.moves.map(\.from), by: \.section)
        for (section, paths) in leaving { self[section].rows.remove(at: paths.map(\.row)) }
        for section in changes.deletedSections.reversed() { remove(at: section) }
        for section in changes.insertedSections {
            insert(CollectionContent.Section(key: section.key, rows: section.models), at: section.index)
        }
        let arriving = Dictionary(
            grouping: changes.insertions.map { ($0.path, $0.model) } + changes.moves.map { ($0.to, $0.model) },
            by: \.0.section)
        for (section, rows) in arriving {
            self[section].rows.insert(rows.map { (index: $0.0.row, element: $0.1) })
        }
    }

    /// Removes the elements at some indexes.
    fileprivate mutating func remove(at indexes: [Int]) {
        if indexes.count == 1 { remove(at: indexes[0]); return }
        var kept: [Element] = []
        kept.reserveCapacity(count - indexes.count)
        var start = 0
        for index in indexes.sorted() {
            kept += self[start..<index]
            start = index + 1
        }
        self = kept + self[start...]
    }

    /// Inserts elements at the indexes that they have afterwards.
    fileprivate mutating func insert(_ arriving: [(index: Int, element: Element)]) {
        if arriving.count == 1 { insert(arriving[0].element, at: arriving[0].index); return }
        var all: [Element] = []
        all.reserveCapacity(count + arriving.count)
        var start = 0
        for (index, element) in arriving.sorted(by: { $0.index < $1.index }) {
            let end = start + index - all.count
            all += self[start..<end]
            all.append(element)
            start = end
        }
        self = all + self[start...]
    }
}

extension CollectionCore {
    /// The sections and their models at the last commit, which an open transaction does not change.
    var committedSections: [(key: String, models: [Model])] {
        if let snapshot { return snapshot.map { ($0.section.key, $0.entries.map(\.model)) } }
        return committed.map { ($0.key, $0.rows.oldEntries.map(\.model)) }
    }
}
