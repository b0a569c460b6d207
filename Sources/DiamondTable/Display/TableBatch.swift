public import DiamondModel

/// The operations of one batch of a table, by the rules of `performBatchUpdates`.
///
/// Deletions and the `from` of moves are paths before the batch. Insertions and the `to` of moves are paths after it.
/// Updated rows are not part of the batch. They are configured again afterwards.
public struct TableBatch: Hashable, Sendable {
    /// A row that moves.
    public struct Move: Hashable, Sendable {
        public var from: RowPath
        public var to: RowPath

        package init(from: RowPath, to: RowPath) {
            self.from = from
            self.to = to
        }
    }

    public var deletedSections: [Int] = []
    public var insertedSections: [Int] = []
    public var deletions: [RowPath] = []
    public var insertions: [RowPath] = []
    public var moves: [Move] = []

    /// Creates a batch without operations.
    package init() {}

    init(_ plan: BatchPlan) {
        deletedSections = plan.deletedSections
        insertedSections = plan.insertedSections
        deletions = plan.deletions
        insertions = plan.insertions
        moves = plan.moves.map { Move(from: $0.old, to: $0.new) }
    }

    /// Whether there is nothing to do.
    public var isEmpty: Bool {
        deletedSections.isEmpty && insertedSections.isEmpty && deletions.isEmpty && insertions.isEmpty && moves.isEmpty
    }

    /// Returns the batch with all sections shifted by a number.
    func offset(by sections: Int) -> TableBatch {
        if sections == 0 { return self }
        var batch = self
        batch.deletedSections = deletedSections.map { $0 + sections }
        batch.insertedSections = insertedSections.map { $0 + sections }
        batch.deletions = deletions.map { $0.offset(by: sections) }
        batch.insertions = insertions.map { $0.offset(by: sections) }
        batch.moves = moves.map { Move(from: $0.from.offset(by: sections), to: $0.to.offset(by: sections)) }
        return batch
    }
}

extension RowPath {
    func offset(by sections: Int) -> RowPath { RowPath(section: section + sections, row: row) }
}
