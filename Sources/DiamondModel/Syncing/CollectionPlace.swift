import Diamond

/// The place of a model in a collection that it has left, to come back to.
struct CollectionPlace {
    let core: CollectionCore
    /// The model behind it in the insertion order, and its own label in that.
    private let next: Model?
    private let label: Int64
    private let pinnedIndex: Int?
    private let hadChangedMembers: Bool
    private var memberChanges = 0

    init?(_ entry: Entry) {
        guard entry.isMember, let core = entry.owner else { return nil }
        self.core = core
        next = entry.next?.model
        label = entry.label
        pinnedIndex = entry.isPinned ? core.index(of: entry.model) : nil
        hadChangedMembers = core.hasChangedMembers
    }

    /// Notes that the model has left.
    mutating func noteLeft() { memberChanges = core.memberChanges }

    /// Puts the model back, unless another with its id has come in meanwhile.
    func restore(_ model: Model) {
        guard core.entries[model.modelID] == nil else { return }
        let isUnchanged = core.memberChanges == memberChanges
        core.putBack(model, before: neighbor, pinnedAt: pinnedIndex)
        if isUnchanged { core.hasChangedMembers = hadChangedMembers }
    }

    /// The entry to come before: the neighbor, or where that has left too, the first with a greater label.
    private var neighbor: Entry? {
        guard let next else { return nil }
        return core.entry(of: next) ?? core.order.first { $0.label > label }
    }
}
