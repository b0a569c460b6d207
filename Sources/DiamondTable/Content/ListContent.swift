import DiamondModel

/// A row of a ``ListContent``.
struct ListRow {
    let id: AnyHashable
    let object: Any
    /// Returns whether another object has the same content, or is the same model.
    let isEqual: (Any) -> Bool
}

/// The rows of a ``ListContent``, and the objects to observe for them.
struct ListRows {
    private(set) var rows: [ListRow] = []
    private(set) var observed: [ObjectIdentifier: Observed] = [:]
    private var seen: [AnyHashable: Int] = [:]

    /// Adds a row. Rows with the same id are distinguished by their number.
    mutating func append(id: AnyHashable, _ object: Any, isEqual: @escaping (Any) -> Bool) {
        let number = seen[id, default: 0]
        seen[id] = number + 1
        rows.append(ListRow(id: [id, number] as [AnyHashable], object: object, isEqual: isEqual))
    }

    mutating func append(id: AnyHashable, _ model: Model) {
        append(id: id, model) { $0 as? Model === model }
    }

    mutating func observe<Object: Model>(_ collection: ModelCollection<Object>) {
        observed[ObjectIdentifier(collection)] = Observed(object: collection) { changed in
            collection.observe { _ in changed() }
        }
    }

    /// An observed object, and the way to observe it.
    struct Observed {
        let object: AnyObject
        let observe: (@escaping () -> Void) -> ObserverToken
    }
}

/// A section of rows that a closure makes. After every change, makes them again and compares them with the old ones.
final class ListContent: PartContent {
    var didChange: () -> Void = {}
    private let header: String?
    private let footer: String?
    private let make: (inout ListRows) -> Void
    private var rows: [ListRow] = []
    private var isOutdated = false
    /// The models whose rows have to be configured again.
    private var updated: Set<ObjectIdentifier> = []
    private var sourceToken: ObserverToken?
    /// The observed objects and their tokens. The objects are retained, because a new object at the same address would
    /// have the same identifier.
    private var tokens: [ObjectIdentifier: (object: AnyObject, token: ObserverToken)] = [:]

    /// Creates a section of the rows that `make` appends. `observe` observes changes of their source.
    init(
        header: String?, footer: String?,
        observe: ((@escaping () -> Void) -> ObserverToken)? = nil, make: @escaping (inout ListRows) -> Void
    ) {
        self.header = header
        self.footer = footer
        self.make = make
        show(makeRows())
        sourceToken = observe? { [weak self] in self?.markOutdated() }
    }

    private func makeRows() -> ListRows {
        var rows = ListRows()
        make(&rows)
        return rows
    }

    private func markOutdated() {
        isOutdated = true
        didChange()
    }

    private func show(_ new: ListRows) {
        rows = new.rows
        let old = tokens
        tokens = [:]
        for (id, observed) in new.observed {
            tokens[id] = old[id] ?? (observed.object, observed.observe { [weak self] in self?.markOutdated() })
        }
        for model in rows.compactMap({ $0.object as? Model }) {
            let id = ObjectIdentifier(model)
            tokens[id] = old[id] ?? (model, model.observe { [weak self] _ in self?.update(id) })
        }
    }

    private func update(_ model: ObjectIdentifier) {
        updated.insert(model)
        markOutdated()
    }

    // MARK: Reading

    var sectionCount: Int { 1 }
    func rowCount(in section: Int) -> Int { rows.count }
    func object(at path: RowPath) -> Any { rows[path.row].object }
    func id(at path: RowPath) -> AnyHashable { rows[path.row].id }

    func path(of object: Any) -> RowPath? {
        rows.firstIndex { $0.isEqual(object) }.map { RowPath(section: 0, row: $0) }
    }

    func path(id: AnyHashable, of object: Any) -> RowPath? {
        rows.firstIndex { $0.id == id }.map { RowPath(section: 0, row: $0) }
    }

    func title(of section: Int) -> String? { header }
    func footer(of section: Int) -> String? { footer }

    // MARK: Changes

    func nextStep() -> TableStep? {
        guard isOutdated else { return nil }
        isOutdated = false
        let new = makeRows()
        let plan = plan(new.rows)
        updated = []
        if plan.isEmpty { show(new); return nil }
        return TableStep(batch: TableBatch(plan), updates: plan.updates.map(\.new)) { [self] in show(new) }
    }

    private func plan(_ new: [ListRow]) -> BatchPlan {
        let old = Dictionary(uniqueKeysWithValues: rows.map { ($0.id, $0) })
        let updated = new.filter { row in old[row.id].map { isUpdated(row, since: $0) } ?? false }
        return BatchPlan(
            from: [("", rows.map(\.id))], to: [("", new.map(\.id))], updated: Set(updated.map(\.id)))
    }

    private func isUpdated(_ row: ListRow, since old: ListRow) -> Bool {
        if !row.isEqual(old.object) { return true }
        return (row.object as? Model).map { updated.contains(ObjectIdentifier($0)) } ?? false
    }
}
