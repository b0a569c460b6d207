/// A model's membership in a collection.
final class Entry: OwnerLink {
    /// The collection. It is weak, because an observer may release it while the entry still receives an event.
    private weak var core: CollectionCore?

    // In the insertion order.
    var label: Int64 = 0
    unowned(unsafe) var previous: Entry?
    unowned(unsafe) var next: Entry?

    /// The current row; `nil` for a filtered model.
    var row: RowList.Row?
    /// The row at the last commit.
    var oldRow: RowList.Row?
    /// The functions that tell whether a model has the values that the sort keys had when the row was placed by index,
    /// regardless of the sort order; `nil` for a sort key whose values are not known, and for other rows.
    var pin: [((Model) -> Bool)?]?
    /// Whether the row may be out of order, because changes of the model are being reported.
    var isWaiting = false
    /// Whether a change of the model was reported, and the row was not updated yet.
    var isChanged = false
    /// Whether the model is in the collection. A removed entry exists until the commit.
    var isMember = true
    var isTouched = false
    var isUpdated = false
    /// The reason for the last change of the row.
    var reason = ChangeReason.added

    init(_ model: Model, in core: CollectionCore) {
        self.core = core
        super.init(model)
    }

    var owner: CollectionCore? { core }

    /// Whether the row was placed by index.
    var isPinned: Bool { pin != nil }

    /// Whether the row is in order among the other sorted rows.
    var isSorted: Bool {
        pin == nil && (!isWaiting && model.tracking.transactionDepth == 0 || owner?.sorts.isEmpty == true)
    }

    override func addCollections(to waiting: inout WaitingCollections) {
        guard isMember, let core else { return }
        waiting.add(core)
        core.wait(for: self)
        core.addCollections(to: &waiting)
    }

    override func receive(_ event: ModelEvent) { core?.modelDidChange(self, event: event) }

    override func receiveID(from old: ModelID, to new: ModelID) { core?.rekey(self, from: old, to: new) }

    override func holdsOther(of id: ModelID) -> Bool { core?.entries[id].map { $0 !== self } ?? false }

    override func leave() { core?.remove(self) }
}

/// A section of a collection.
final class SectionRecord {
    let key: String
    private(set) lazy var rows = RowList(of: self)
    /// The index at the last commit; `nil` for a new section.
    var oldIndex: Int?
    /// The current index, set when a change set is made.
    var index = 0

    init(key: String) { self.key = key }
}
