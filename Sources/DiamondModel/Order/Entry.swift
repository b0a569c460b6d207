/// A model's membership in a collection.
final class Entry: OwnerLink {
    /// The collection; `nil` when it was released, and for a removed model after the commit. The collection sets it.
    unowned(unsafe) private(set) var owner: CollectionCore?

    // Unchecked, because a list is arranged with many accesses of each row, and each only reads or stores one part.

    // In the insertion order.
    @exclusivity(unchecked) var label: Int64 = 0
    @exclusivity(unchecked) unowned(unsafe) var previous: Entry?
    @exclusivity(unchecked) unowned(unsafe) var next: Entry?

    /// The chunk with the current row; `nil` for a filtered model.
    @exclusivity(unchecked) unowned(unsafe) var chunk: RowList.Chunk?
    /// The chunk with the row at the last commit. It may be gone if all rows were rearranged since.
    @exclusivity(unchecked) private var placeBefore: Unmanaged<RowList.Chunk>?
    /// The functions that tell whether a model has the values that the sort keys had when the row was placed by index,
    /// regardless of the sort order; `nil` for a sort key whose values are not known, and for other rows.
    var pin: [((Model) -> Bool)?]?
    /// Whether the row has neither left nor entered since the last commit.
    @exclusivity(unchecked) private(set) var isStill = false
    /// Whether the row may be out of order, because changes of the model are being reported.
    var isWaiting = false
    /// Whether a change of the model was reported, and the row was not updated yet.
    var isChanged = false
    /// Whether the model is in the collection. A removed entry exists until the commit.
    @exclusivity(unchecked) var isMember = true
    @exclusivity(unchecked) var isTouched = false
    @exclusivity(unchecked) var isUpdated = false
    /// A number that a comparison of all rows uses; -1 between such comparisons.
    var mark: Int32 = -1
    /// The reason for the last change of the row.
    @exclusivity(unchecked) var reason = ChangeReason.added

    init(_ model: Model, in core: CollectionCore) {
        owner = core
        super.init(model)
    }

    /// Whether there is a row now.
    var hasRow: Bool { chunk != nil }
    /// Whether there was a row at the last commit.
    var hadRow: Bool { placeBefore != nil }
    var oldChunk: RowList.Chunk? { placeBefore?.takeUnretainedValue() }
    var section: SectionRecord? { chunk?.section }

    /// Notes that the row leaves its place.
    func leavePlace() { isStill = false }

    /// Makes the current row the one at the last commit.
    func commitPlace() {
        placeBefore = chunk.map { .passUnretained($0) }
        isStill = chunk != nil
    }

    /// Ends the link to the collection.
    func detach() { owner = nil }

    /// Whether the row was placed by index.
    var isPinned: Bool { pin != nil }

    /// Whether the row is in order among the other sorted rows.
    var isSorted: Bool {
        if pin != nil { return false }
        let isPlaced = !isWaiting && model.tracking.transactionDepth == 0 && !model.tracking.isNotifying
        return isPlaced || owner?.sorts.isEmpty == true
    }

    override func addCollections(to waiting: inout WaitingCollections) {
        guard isMember, let core = owner else { return }
        waiting.add(core)
        core.wait(for: self)
        core.addCollections(to: &waiting)
    }

    override func receive(_ event: ModelEvent) { owner?.modelDidChange(self, event: event) }

    override func receiveID(from old: ModelID, to new: ModelID) { owner?.rekey(self, from: old, to: new) }

    override func holdsOther(of id: ModelID) -> Bool { owner?.entries[id].map { $0 !== self } ?? false }

    override func leave() { owner?.remove(self) }
}
