/// A type-erased change set. It is complete when observers receive it.
final class CollectionChanges {
    struct Row {
        let model: Model
        let reason: ChangeReason
    }

    /// Rows by path. They are sorted before one is found.
    struct Rows {
        private var rows: [(path: RowPath, row: Row)] = []

        mutating func append(_ model: Model, reason: ChangeReason, at path: RowPath) {
            rows.append((path, Row(model: model, reason: reason)))
        }

        mutating func sort() { if rows.count > 1 { rows.sort { $0.path < $1.path } } }

        var paths: [RowPath] { rows.map(\.path) }

        subscript(path: RowPath) -> Row? {
            let index = rows.partitionPoint { $0.path < path }
            return index < rows.count && rows[index].path == path ? rows[index].row : nil
        }
    }

    struct Section {
        let index: Int
        let key: String
        let models: [Model]
    }

    var plan = BatchPlan()
    var isReset = false
    var newGeneration = 0
    var origin: ChangeOrigin?
    var oldCounts: [Int] = []
    var newCounts: [Int] = []
    var insertedSections: [Section] = []
    /// The deleted rows by old path, and perhaps others.
    var before = Rows()
    /// The touched rows by new path.
    var after = Rows()
}
