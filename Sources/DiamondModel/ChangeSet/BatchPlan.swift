/// The operations that bring a table from one state to another in a single batch, by the rules of UITableView.
///
/// Deletions and the old places of moves count before the batch, insertions and the new places after it. No operation
/// names a row of a section that is deleted or inserted. A displaced section is deleted and inserted.
struct BatchPlan: Equatable {
    /// The two places of a row, of which one is missing when it was not or is not there.
    struct RowChange: Equatable {
        var old: RowPath?
        var new: RowPath?
        /// Whether the row's content has changed.
        var isUpdated = false
        /// Whether the row has kept its place among the untouched rows.
        var isInPlace = false
    }

    struct Pair: Hashable {
        let old: RowPath
        let new: RowPath
    }

    private(set) var deletedSections: [Int] = []
    private(set) var insertedSections: [Int] = []
    private(set) var deletions: [RowPath] = []
    private(set) var insertions: [RowPath] = []
    private(set) var moves: [Pair] = []
    /// Rows that are to be configured again after the batch, with both places.
    private(set) var updates: [Pair] = []

    /// The new place of each section that stays, by its old place.
    private(set) var newSections: [Int?] = []
    /// The old place of each section that stays, by its new place.
    private(set) var oldSections: [Int?] = []

    /// The touched rows of a section that stays.
    private struct Touched {
        var leaving: [Int] = []
        var arriving: [Int] = []
        var staying: [MoveMinimizer.Move] = []
    }

    /// Plans a batch.
    ///
    /// - Parameters:
    ///   - oldSections: the row counts of the sections before.
    ///   - newSections: for each section after, its place before, if it had one.
    ///   - rows: the rows that were touched. All other rows of sections that stay keep their order.
    init(oldSections: [Int], newSections: [Int?], rows: [RowChange]) {
        planSections(oldCount: oldSections.count, newSections)
        var touched: [Int: Touched] = [:]
        for row in rows { plan(row, &touched) }
        for (section, rows) in touched { minimize(rows, section, oldCount: oldSections[section]) }
        deletions.sort()
        insertions.sort()
        moves.sort { $0.old < $1.old }
        updates.sort { $0.old < $1.old }
    }

    private mutating func planSections(oldCount: Int, _ sections: [Int?]) {
        newSections = Array(repeating: nil, count: oldCount)
        oldSections = Array(repeating: nil, count: sections.count)
        for (old, new) in keptSections(sections) {
            newSections[old] = new
            oldSections[new] = old
        }
        deletedSections = newSections.indices.filter { newSections[$0] == nil }
        insertedSections = oldSections.indices.filter { oldSections[$0] == nil }
    }

    /// The old and new places of as many sections as keep their order.
    private func keptSections(_ sections: [Int?]) -> [(old: Int, new: Int)] {
        let surviving = sections.enumerated().compactMap { new, old in old.map { (old: $0, new: new) } }
        if zip(surviving, surviving.dropFirst()).allSatisfy({ $0.old < $1.old }) { return surviving }
        let weights = Array(repeating: 1, count: surviving.count)
        return IncreasingSubsequence.heaviest(surviving.map(\.old), weights: weights).map { surviving[$0] }
    }

    private mutating func plan(_ row: RowChange, _ touched: inout [Int: Touched]) {
        let old = row.old.flatMap { newSections[$0.section] == nil ? nil : $0 }
        let new = row.new.flatMap { oldSections[$0.section] == nil ? nil : $0 }
        switch (old, new) {
        case (let old?, nil):
            deletions.append(old)
            touched[old.section, default: Touched()].leaving.append(old.row)
        case (nil, let new?):
            insertions.append(new)
            arrive(new, &touched)
        case (let old?, let new?):
            if row.isUpdated { updates.append(Pair(old: old, new: new)) }
            if row.isInPlace { return }
            if newSections[old.section] == new.section {
                touched[old.section, default: Touched()].staying.append(MoveMinimizer.Move(from: old.row, to: new.row))
            } else {
                moves.append(Pair(old: old, new: new))
                touched[old.section, default: Touched()].leaving.append(old.row)
                arrive(new, &touched)
            }
        case (nil, nil): break
        }
    }

    private func arrive(_ new: RowPath, _ touched: inout [Int: Touched]) {
        guard let old = oldSections[new.section] else { return }
        touched[old, default: Touched()].arriving.append(new.row)
    }

    private mutating func minimize(_ rows: Touched, _ section: Int, oldCount: Int) {
        guard let newSection = newSections[section] else { return }
        let minimal = MoveMinimizer.moves(
            oldCount: oldCount, leaving: rows.leaving, arriving: rows.arriving, staying: rows.staying)
        moves += minimal.map {
            Pair(old: RowPath(section: section, row: $0.from), new: RowPath(section: newSection, row: $0.to))
        }
    }

    /// Whether the batch has no operation.
    var isEmpty: Bool { count == 0 }

    /// The number of operations.
    var count: Int {
        deletedSections.count + insertedSections.count + deletions.count + insertions.count + moves.count
            + updates.count
    }
}
