/// The operations that bring a table from one state to another in a single batch, by the rules of UITableView.
///
/// Deletions and the old paths of moves are paths before the batch. Insertions and the new paths are paths after it. No
/// operation has a row of a section that is deleted or inserted. A section that moves is deleted and inserted.
package struct BatchPlan: Equatable {
    /// The old and new path of a row. One is `nil` for an inserted or deleted row.
    struct RowChange: Equatable {
        var old: RowPath?
        var new: RowPath?
        /// Whether the row's content has changed.
        var isUpdated = false
        /// Whether the row has kept its position relative to the untouched rows.
        var isInPlace = false
    }

    package struct Pair: Hashable {
        package let old: RowPath
        package let new: RowPath
    }

    package private(set) var deletedSections: [Int] = []
    package private(set) var insertedSections: [Int] = []
    package private(set) var deletions: [RowPath] = []
    package private(set) var insertions: [RowPath] = []
    package private(set) var moves: [Pair] = []
    /// The rows to configure again after the batch, with old and new paths.
    package private(set) var updates: [Pair] = []

    /// The indexes of the remaining sections; `nil` if all sections stay as they are.
    private(set) var sections: Sections?

    /// The indexes of the sections that remain in order.
    struct Sections: Equatable {
        /// The new index of each remaining section, by its old index.
        var new: [Int?]
        /// The old index of each remaining section, by its new index.
        var old: [Int?]
    }

    /// Returns the new index of a section; `nil` for a deleted one.
    func newSection(_ old: Int) -> Int? { sections.map { $0.new[old] } ?? old }

    /// Returns the old index of a section; `nil` for an inserted one.
    func oldSection(_ new: Int) -> Int? { sections.map { $0.old[new] } ?? new }

    /// The touched rows of a remaining section.
    private struct Touched {
        var leaving: [Int] = []
        var arriving: [Int] = []
        var staying: [MoveMinimizer.Move] = []
    }

    init() {}

    /// Plans a batch that only updates rows.
    init(updates: [RowPath]) { self.updates = updates.map { Pair(old: $0, new: $0) } }

    /// Plans a batch.
    ///
    /// - Parameters:
    ///   - oldSections: The row counts of the old sections.
    ///   - newSections: The old index of each new section, `nil` for an inserted one; `nil` if all sections stay.
    ///   - rows: The touched rows. All other rows of remaining sections keep their order.
    init(oldSections: [Int], newSections: [Int?]?, rows: [RowChange]) {
        if let newSections { planSections(newSections, oldCount: oldSections.count) }
        var touched: [Int: Touched] = [:]
        for row in rows { plan(row, touched: &touched) }
        for (section, rows) in touched {
            minimizeMoves(of: rows, section: section, oldCount: oldSections[section])
        }
        deletions.sort()
        insertions.sort()
        moves.sort { $0.old < $1.old }
        updates.sort { $0.old < $1.old }
    }

    private mutating func planSections(_ sections: [Int?], oldCount: Int) {
        var new = [Int?](repeating: nil, count: oldCount)
        var old = [Int?](repeating: nil, count: sections.count)
        for section in remainingSections(sections) {
            new[section.old] = section.new
            old[section.new] = section.old
        }
        deletedSections = new.indices.filter { new[$0] == nil }
        insertedSections = old.indices.filter { old[$0] == nil }
        self.sections = Sections(new: new, old: old)
    }

    /// Returns the old and new indexes of the largest set of sections that keep their order.
    private func remainingSections(_ sections: [Int?]) -> [(old: Int, new: Int)] {
        let surviving = sections.enumerated().compactMap { new, old in old.map { (old: $0, new: new) } }
        if zip(surviving, surviving.dropFirst()).allSatisfy({ $0.old < $1.old }) { return surviving }
        let weights = Array(repeating: 1, count: surviving.count)
        return IncreasingSubsequence.heaviest(surviving.map(\.old), weights: weights).map { surviving[$0] }
    }

    private mutating func plan(_ row: RowChange, touched: inout [Int: Touched]) {
        let old = row.old.flatMap { newSection($0.section) == nil ? nil : $0 }
        let new = row.new.flatMap { oldSection($0.section) == nil ? nil : $0 }
        switch (old, new) {
        case (let old?, nil):
            deletions.append(old)
            touched[old.section, default: Touched()].leaving.append(old.row)
        case (nil, let new?):
            insertions.append(new)
            addArrival(at: new, to: &touched)
        case (let old?, let new?):
            if row.isUpdated { updates.append(Pair(old: old, new: new)) }
            if row.isInPlace { return }
            if newSection(old.section) == new.section {
                touched[old.section, default: Touched()].staying.append(MoveMinimizer.Move(from: old.row, to: new.row))
            } else {
                moves.append(Pair(old: old, new: new))
                touched[old.section, default: Touched()].leaving.append(old.row)
                addArrival(at: new, to: &touched)
            }
        case (nil, nil): break
        }
    }

    private func addArrival(at new: RowPath, to touched: inout [Int: Touched]) {
        guard let old = oldSection(new.section) else { return }
        touched[old, default: Touched()].arriving.append(new.row)
    }

    private mutating func minimizeMoves(of rows: Touched, section: Int, oldCount: Int) {
        guard let newSection = newSection(section) else { return }
        let minimal = MoveMinimizer.moves(
            oldCount: oldCount, leaving: rows.leaving, arriving: rows.arriving, staying: rows.staying)
        moves += minimal.map {
            Pair(old: RowPath(section: section, row: $0.from), new: RowPath(section: newSection, row: $0.to))
        }
    }

    /// Whether the batch has no operations.
    package var isEmpty: Bool { count == 0 }

    /// The number of operations.
    package var count: Int {
        deletedSections.count + insertedSections.count + deletions.count + insertions.count + moves.count
            + updates.count
    }
}

extension BatchPlan {
    /// Plans the batch between two states by comparing the ids of all rows.
    ///
    /// - Parameters:
    ///   - old: The old sections by their keys, with the ids of their rows.
    ///   - new: The new sections.
    ///   - updated: The ids of the rows whose content has changed.
    package init<ID: Hashable>(
        from old: [(key: String, rows: [ID])], to new: [(key: String, rows: [ID])], updated: Set<ID>
    ) {
        var places: [ID: RowPath] = [:]
        for (section, content) in old.enumerated() {
            for (row, id) in content.rows.enumerated() { places[id] = RowPath(section: section, row: row) }
        }
        var rows: [RowChange] = []
        for (section, content) in new.enumerated() {
            for (row, id) in content.rows.enumerated() {
                let path = RowPath(section: section, row: row)
                rows.append(RowChange(old: places.removeValue(forKey: id), new: path, isUpdated: updated.contains(id)))
            }
        }
        rows += places.values.map { RowChange(old: $0) }
        let oldSections = Dictionary(uniqueKeysWithValues: old.enumerated().map { ($1.key, $0) })
        self.init(oldSections: old.map(\.rows.count), newSections: new.map { oldSections[$0.key] }, rows: rows)
    }
}
