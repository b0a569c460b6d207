/// The reason of a change of a row.
public enum ChangeReason: Hashable, Sendable {
    /// The model was put into the collection at its place in the order.
    case added
    /// The model was put in at a given place.
    case inserted
    /// The model passes the filters now.
    case unfiltered
    /// The model left the collection.
    case removed
    /// The model does not pass the filters any more, and is still in the collection.
    case filtered
    /// The row has another place.
    case moved
    /// The model took the place of another, or gave it away.
    case replaced
    /// The row changed places with another.
    case exchanged
    /// The model's content has changed.
    case updated
}

/// A token for the origin of a change, such as the table whose gesture caused it.
public final class ChangeOrigin {
    public init() {}
}

/// The changes of a collection in one transaction, legal as one batch of a table or collection view.
///
/// Apply all operations inside `performBatchUpdates`, where the data source begins to answer with the new counts. Then
/// configure the updated rows again, at their new places. Deletions and the `from` of moves are places before the batch;
/// insertions and the `to` of moves are places after it.
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

    /// A row with other content.
    public struct Update {
        /// The place before the batch.
        public let old: RowPath
        /// The place after the batch.
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

    /// Whether too much has changed for single operations: reload everything.
    public var isReset: Bool { core.isReset }

    /// The number of the collection's state before, to notice that a change set was missed.
    public var oldGeneration: Int { core.newGeneration - 1 }

    /// The number of the collection's state after.
    public var newGeneration: Int { core.newGeneration }

    /// The origin that the transaction was given.
    public var origin: ChangeOrigin? { core.origin }

    /// The number of rows in each section before.
    public var oldCounts: [Int] { core.oldCounts }

    /// The number of rows in each section after.
    public var newCounts: [Int] { core.newCounts }

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

    /// Whether there is no operation and no reset.
    public var isEmpty: Bool { !isReset && core.plan.isEmpty }

    private func model(_ path: RowPath) -> Object { cast(core.after[path]?.model) }

    private func reason(_ path: RowPath) -> ChangeReason { core.after[path]?.reason ?? .moved }

    private func cast(_ model: Model?) -> Object {
        guard let model = model as? Object else { preconditionFailure("a row of the change set has no model") }
        return model
    }
}

/// A change set without the class of its models.
struct CollectionChanges {
    struct Row {
        let model: Model
        let reason: ChangeReason
    }

    struct Section {
        let index: Int
        let key: String
        let models: [Model]
    }

    var plan = BatchPlan(oldSections: [], newSections: [], rows: [])
    var isReset = false
    var newGeneration = 0
    var origin: ChangeOrigin?
    var oldCounts: [Int] = []
    var newCounts: [Int] = []
    var insertedSections: [Section] = []
    /// The touched rows by their old places.
    var before: [RowPath: Row] = [:]
    /// The touched rows by their new places.
    var after: [RowPath: Row] = [:]
}

/// An event of a collection.
public enum CollectionEvent<Object: Model> {
    /// The collection is about to change, for the first time in a transaction.
    case willChange
    /// The transaction has ended.
    case didChange(ChangeSet<Object>)
}
