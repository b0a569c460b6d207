import DiamondModel

/// A batch as a table is given it.
struct Batch {
    struct Move {
        var from: RowPath
        var to: RowPath
    }

    struct Update {
        var old: RowPath
        var new: RowPath
    }

    var deletedSections: [Int] = []
    var insertedSections: [Int] = []
    var deletions: [RowPath] = []
    var insertions: [RowPath] = []
    var moves: [Move] = []
    var updates: [Update] = []
}

/// The content of a cell: whose it is, and which state of it.
struct Cell: Equatable {
    var id: Int
    var version: Int
}

/// A reason to refuse a batch.
struct InvalidBatch: Error {
    let reason: String

    init(_ reason: String) { self.reason = reason }
}

/// The answers of a table's data source.
protocol SimulatedTableSource: AnyObject {
    var counts: [Int] { get }
    func cell(at path: RowPath) -> Cell
}

/// A stand-in for UITableView and UICollectionView: it knows the cells on show, the batch, and what its source answers, and
/// refuses what these refuse.
struct SimulatedTable {
    private(set) var shown: [[Cell]] = []

    mutating func reload(from source: some SimulatedTableSource) {
        shown = source.counts.enumerated().map { section, count in
            (0..<count).map { source.cell(at: RowPath(section: section, row: $0)) }
        }
    }

    /// Performs a batch; the source has to answer as before until `update` is called, and as after it then.
    mutating func performBatchUpdates(
        _ batch: Batch, source: some SimulatedTableSource, update: () throws -> Void
    ) throws {
        guard source.counts == shown.map(\.count) else {
            throw InvalidBatch(
                "the source answers \(source.counts) before the batch, the table shows \(shown.map(\.count))")
        }
        try update()
        let layout = try Layout(batch, old: shown.map(\.count), new: source.counts)
        let before = shown
        shown = try layout.surviving.enumerated().map { section, old in
            guard let old else {
                return (0..<source.counts[section]).map { source.cell(at: RowPath(section: section, row: $0)) }
            }
            return try rows(of: section, from: old, before, batch, source)
        }
        for update in batch.updates { try configure(update, before, batch, layout, source) }
        guard source.counts == shown.map(\.count) else {
            throw InvalidBatch("the source answers otherwise after the batch")
        }
    }

    private func rows(
        of section: Int, from old: Int, _ before: [[Cell]], _ batch: Batch, _ source: some SimulatedTableSource
    ) throws -> [Cell] {
        let gone = Set((batch.deletions + batch.moves.map(\.from)).filter { $0.section == old }.map(\.row))
        let kept = before[old].indices.filter { !gone.contains($0) }.map { before[old][$0] }
        let arriving =
            batch.insertions.filter { $0.section == section }.count
            + batch.moves.filter { $0.to.section == section }.count
        guard kept.count + arriving == source.counts[section] else {
            throw InvalidBatch("section \(section): \(kept.count) rows stay and \(arriving) come, not \(source.counts)")
        }
        var cells = [Cell?](repeating: nil, count: source.counts[section])
        for path in batch.insertions where path.section == section { cells[path.row] = source.cell(at: path) }
        // A cell that moves keeps its content.
        for move in batch.moves where move.to.section == section {
            cells[move.to.row] = before[move.from.section][move.from.row]
        }
        var rest = kept.makeIterator()
        return cells.compactMap { $0 ?? rest.next() }
    }

    private mutating func configure(
        _ update: Batch.Update, _ before: [[Cell]], _ batch: Batch, _ layout: Layout,
        _ source: some SimulatedTableSource
    ) throws {
        guard layout.pairs[update.old.section] != nil, before[update.old.section].indices.contains(update.old.row),
            !batch.deletions.contains(update.old), layout.surviving.indices.contains(update.new.section),
            layout.surviving[update.new.section] != nil, shown[update.new.section].indices.contains(update.new.row),
            before[update.old.section][update.old.row].id == shown[update.new.section][update.new.row].id
        else { throw InvalidBatch("the update \(update) names no row, or two") }
        shown[update.new.section][update.new.row] = source.cell(at: update.new)
    }

    /// The sections that stay, and the checks of all operations against them.
    private struct Layout {
        /// For each section after the batch, the one before that it was.
        let surviving: [Int?]
        let pairs: [Int: Int]

        init(_ batch: Batch, old: [Int], new: [Int]) throws {
            let deleted = Set(batch.deletedSections)
            let inserted = Set(batch.insertedSections)
            guard deleted.count == batch.deletedSections.count, inserted.count == batch.insertedSections.count,
                deleted.allSatisfy(old.indices.contains), inserted.allSatisfy(new.indices.contains)
            else { throw InvalidBatch("a section twice, or out of range") }
            guard old.count - deleted.count + inserted.count == new.count else {
                throw InvalidBatch("\(old.count) - \(deleted.count) + \(inserted.count) sections are not \(new.count)")
            }
            var rest = old.indices.filter { !deleted.contains($0) }.makeIterator()
            surviving = new.indices.map { inserted.contains($0) ? nil : rest.next() }
            pairs = Dictionary(
                uniqueKeysWithValues: surviving.enumerated().compactMap { new, old in old.map { ($0, new) } })
            try check(batch.deletions + batch.moves.map(\.from), in: old) { pairs[$0] != nil }
            try check(batch.insertions + batch.moves.map(\.to), in: new) { surviving[$0] != nil }
        }

        private func check(_ paths: [RowPath], in counts: [Int], stays: (Int) -> Bool) throws {
            guard Set(paths).count == paths.count else { throw InvalidBatch("two operations on one row: \(paths)") }
            for path in paths {
                guard counts.indices.contains(path.section), stays(path.section),
                    (0..<counts[path.section]).contains(path.row)
                else { throw InvalidBatch("\(path) is out of range, or in a section that does not stay") }
            }
        }
    }
}
