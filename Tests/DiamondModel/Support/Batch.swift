import DiamondModel
import DiamondTable
import DiamondTesting

typealias Cell = SimulatedTable.Cell

/// A batch and the updates after it, with the old and new paths of their rows.
struct Batch {
    struct Update {
        var old: RowPath
        var new: RowPath
    }

    typealias Move = TableBatch.Move

    var deletedSections: [Int] = []
    var insertedSections: [Int] = []
    var deletions: [RowPath] = []
    var insertions: [RowPath] = []
    var moves: [Move] = []
    var updates: [Update] = []

    var operations: TableBatch {
        var batch = TableBatch()
        batch.deletedSections = deletedSections
        batch.insertedSections = insertedSections
        batch.deletions = deletions
        batch.insertions = insertions
        batch.moves = moves
        return batch
    }
}

extension SimulatedTable {
    /// Performs a batch and its updates. The old and new paths of an update must be those of one row.
    func performBatchUpdates(_ batch: Batch, source: some SimulatedTableSource, update: () throws -> Void) throws {
        let before = shown
        try performBatchUpdates(batch.operations, source: source, update: update)
        for update in batch.updates {
            guard let old = cell(at: update.old, in: before), old.id == cell(at: update.new, in: shown)?.id else {
                throw InvalidBatch("the update \(update) names no row, or two")
            }
        }
        try configure(batch.updates.map(\.new), source: source)
    }

    private func cell(at path: RowPath, in cells: [[Cell]]) -> Cell? {
        guard cells.indices.contains(path.section), cells[path.section].indices.contains(path.row) else { return nil }
        return cells[path.section][path.row]
    }
}

extension SimulatedTable.Cell {
    init(id: Int, version: Int) { self.init(id: AnyHashable(id), content: AnyHashable(version)) }
}
