/// A model's membership in a collection.
final class Entry: OwnerLink {
    /// The collection; `nil` when an observer has dropped it while the entry still receives an event.
    private weak var core: CollectionCore?

    // In the insertion order.
    var label: Int64 = 0
    unowned(unsafe) var previous: Entry?
    unowned(unsafe) var next: Entry?

    /// The place among the rows; `nil` for a model that is filtered out.
    var row: RowList.Row?
    /// The place at the last commit.
    var oldRow: RowList.Row?
    /// Whether the row was placed by index, out of the sort order.
    var isPinned = false
    /// Whether the model is in the collection; not after its removal, until the commit.
    var isMember = true
    var isTouched = false
    var isUpdated = false
    /// The reason of the last change of place.
    var reason = ChangeReason.added

    init(_ model: Model, in core: CollectionCore) {
        self.core = core
        super.init(model)
    }

    var owner: CollectionCore? { core }

    override func receive(_ event: ModelEvent) { core?.modelDidChange(self, event) }

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
    /// The index now, as of the making of a change set.
    var index = 0

    init(key: String) { self.key = key }
}
