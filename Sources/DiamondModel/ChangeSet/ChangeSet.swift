/// The reason for a change of a row.
public enum ChangeReason: Hashable, Sendable {
    /// The model was added to the collection at its sorted position.
    case added
    /// The model was inserted at a given index.
    case inserted
    /// The model now passes the filters.
    case unfiltered
    /// The model was removed from the collection.
    case removed
    /// The model no longer passes the filters. It is still in the collection.
    case filtered
    /// The row has moved.
    case moved
    /// The model replaced another one, or was replaced by one.
    case replaced
    /// The row was exchanged with another one.
    case exchanged
    /// The model's content has changed.
    case updated
}

/// A token for the origin of a change, such as the table whose gesture caused it.
public final class ChangeOrigin {
    public init() {}
}

/// The changes of a collection in one transaction, valid as one batch of a table or collection view.
///
/// Apply all operations inside `performBatchUpdates`. From that call on, the data source has to return the new counts.
/// Then configure the updated rows again, at their new paths. Deletions and the `from` of moves are paths before the
/// batch. Insertions and the `to` of moves are paths after it.
public struct ChangeSet<Object: Model> {
    /// A row that was inserted or deleted.
    public struct Row {
        public let path: RowPath
        public let model: Object
        public let reason: ChangeReason
    }

    /// A row that moves.
    public struct Move {
        public let from: RowPath
        public let to: RowPath
        public let model: Object
        public let reason: ChangeReason
    }

    /// A row with changed content.
    public struct Update {
        /// The path before the batch.
        public let old: RowPath
        /// The path after the batch.
        public let new: RowPath
        public let model: Object
    }

    /// A section that was inserted.
    public struct Section {
        public let index: Int
        public let key: String
        public let models: [Object]
    }

    let core: CollectionChanges

    /// Whether there are too many changes for single operations. Reload everything then.
    public var isReset: Bool { core.isReset }

    /// The collection's ``ModelCollection/generation`` before the changes. Use it to detect missed change sets.
    public var oldGeneration: Int { core.newGeneration - 1 }

    /// The collection's ``ModelCollection/generation`` after the changes.
    package var newGeneration: Int { core.newGeneration }

    /// The origin passed to the transaction.
    public var origin: ChangeOrigin? { core.origin }

    /// The number of rows in each section before the changes.
    package var oldCounts: [Int] { core.oldCounts }

    /// The number of rows in each section after the changes.
    package var newCounts: [Int] { core.newCounts }

    public var deletedSections: [Int] { core.plan.deletedSections }

    public var insertedSections: [Section] {
        core.insertedSections.map { Section(index: $0.index, key: $0.key, models: $0.models.map(cast)) }
    }

    public var deletions: [Row] {
        core.plan.deletions.map { path in
            let entry = core.before[path]
            return Row(path: path, model: cast(entry?.model), reason: entry?.reason ?? .removed)
        }
    }

    public var insertions: [Row] { core.plan.insertions.map { Row(path: $0, model: model($0), reason: reason($0)) } }

    public var moves: [Move] {
        core.plan.moves.map { Move(from: $0.old, to: $0.new, model: model($0.new), reason: reason($0.new)) }
    }

    public var updates: [Update] {
        core.plan.updates.map { Update(old: $0.old, new: $0.new, model: model($0.new)) }
    }

    /// The operations, without models.
    package var plan: BatchPlan { core.plan }

    /// Whether there are no operations and no reset.
    public var isEmpty: Bool { !isReset && core.plan.isEmpty }

    private func model(_ path: RowPath) -> Object { cast(core.after[path]?.model) }

    private func reason(_ path: RowPath) -> ChangeReason { core.after[path]?.reason ?? .moved }

    private func cast(_ model: Model?) -> Object {
        guard let model = model as? Object else { preconditionFailure("a row of the change set has no model") }
        return model
    }
}

/// An event of a collection.
public enum CollectionEvent<Object: Model> {
    /// The collection is about to change for the first time in a transaction. Do not change it in the observer.
    case willChange
    /// The transaction has ended.
    case didChange(ChangeSet<Object>)
}
