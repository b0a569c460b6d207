import Diamond

/// A model that was deleted here, with its places in the collections that it has left.
struct DeletedModel {
    let model: Model
    let places: [CollectionPlace]
}

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

    /// Takes a model out of every collection, and returns its places.
    static func leave(_ model: Model) -> [CollectionPlace] {
        var places = all(of: model)
        model.leaveCollections()
        for index in places.indices { places[index].memberChanges = places[index].core.memberChanges }
        return places
    }

    static func all(of model: Model) -> [CollectionPlace] {
        model.links.compactMap { link in (link as? Entry).flatMap(CollectionPlace.init) }
    }

    /// Puts the model back, unless another with its id has come in meanwhile.
    func restore(_ model: Model) {
        guard core.entries[model.modelID] == nil else { return }
        let isUnchanged = core.memberChanges == memberChanges
        core.reinsert(model, before: neighbor, pinnedAt: pinnedIndex)
        if isUnchanged { core.hasChangedMembers = hadChangedMembers }
    }

    /// The entry to come before: the neighbor, or where that has left too, the first with a greater label.
    private var neighbor: Entry? {
        next.flatMap(core.entry) ?? core.order.first { $0.label > label }
    }
}
