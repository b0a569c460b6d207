import DiamondModel

extension Array {
    /// Applies a change set without reading the collection. Rebuilds only the touched sections.
    mutating func apply<Object>(_ changes: ChangeSet<Object>) where Element == CollectionContent<Object>.Section {
        let removed = Dictionary(grouping: changes.deletions.map(\.path) + changes.moves.map(\.from), by: \.section)
        for (section, paths) in removed { self[section].rows.remove(at: paths.map(\.row)) }
        for section in changes.deletedSections.reversed() { remove(at: section) }
        for section in changes.insertedSections {
            insert(CollectionContent.Section(key: section.key, rows: section.models), at: section.index)
        }
        let inserted = Dictionary(
            grouping: changes.insertions.map { ($0.path, $0.model) } + changes.moves.map { ($0.to, $0.model) },
            by: \.0.section)
        for (section, rows) in inserted {
            self[section].rows.insert(rows.map { (index: $0.0.row, element: $0.1) })
        }
    }

    /// Removes the elements at some indexes.
    fileprivate mutating func remove(at indexes: [Int]) {
        if indexes.count == 1 { remove(at: indexes[0]); return }
        var remaining: [Element] = []
        remaining.reserveCapacity(count - indexes.count)
        var start = 0
        for index in indexes.sorted() {
            remaining += self[start..<index]
            start = index + 1
        }
        self = remaining + self[start...]
    }

    /// Inserts elements at their final indexes.
    fileprivate mutating func insert(_ new: [(index: Int, element: Element)]) {
        if new.count == 1 { insert(new[0].element, at: new[0].index); return }
        var all: [Element] = []
        all.reserveCapacity(count + new.count)
        var start = 0
        for (index, element) in new.sorted(by: { $0.index < $1.index }) {
            let end = start + index - all.count
            all += self[start..<end]
            all.append(element)
            start = end
        }
        self = all + self[start...]
    }
}
