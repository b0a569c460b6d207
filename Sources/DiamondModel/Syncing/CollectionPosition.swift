import Diamond

/// A model that was deleted here, with its earlier positions in collections.
struct DeletedModel {
    let model: Model
    let positions: [CollectionPosition]
    /// Whether an archive had the deletion. The positions are unknown then.
    var isArchived = false
}

extension CollectionCore {
    /// The archives of the objects whose deletions were neither sent nor queued.
    var deletedArchives: [JSONValue] {
        let models = (pagerIfAny?.deleted ?? []).map(\.model).filter { model in
            guard let context else { return true }
            return context.order.deleted.contains(ModelKey(type, model.untrackedID))
                && !context.pendingDeletions.values.contains { $0.model === model }
        }
        return models.map { $0.archive() }
    }

    /// Restores deletions that were not sent.
    func restoreDeleted(_ archives: [JSONValue]) {
        if archives.isEmpty { return }
        pager.deleted = archives.compactMap { json in
            (try? type.unarchived(from: json)).map { DeletedModel(model: $0, positions: [], isArchived: true) }
        }
        markDeleted()
    }

    /// Adds the deleted objects of an archive to those that no load adds again.
    func markDeleted() {
        guard let context, let pager = pagerIfAny else { return }
        for deleted in pager.deleted where deleted.isArchived {
            if deleted.model.context == nil { try? context.register(deleted.model) }
            context.order.deleted.insert(ModelKey(type, deleted.model.untrackedID))
        }
    }
}

/// The earlier position of a model in a collection, to undo its removal.
struct CollectionPosition {
    let core: CollectionCore
    /// The models around this one in the insertion order, and its own label in that order.
    private let previous: Model?
    private let next: Model?
    private let label: Int64
    private let pinnedIndex: Int?
    private let hadChangedMembers: Bool
    private var memberChanges = 0

    init?(_ entry: Entry) {
        guard entry.isMember, let core = entry.owner else { return nil }
        self.core = core
        previous = entry.previous?.model
        next = entry.next?.model
        label = entry.label
        pinnedIndex = entry.isPinned ? core.index(of: entry.model) : nil
        hadChangedMembers = core.hasChangedMembers
    }

    /// Removes a model from every collection, and returns its positions.
    ///
    /// - Parameter isEdit: Whether histories record it.
    static func remove(_ model: Model, isEdit: Bool = true) -> [CollectionPosition] {
        var positions = all(of: model)
        if isEdit { model.leaveCollections() } else { model.leaveUnrecorded() }
        for index in positions.indices { positions[index].memberChanges = positions[index].core.memberChanges }
        return positions
    }

    static func all(of model: Model) -> [CollectionPosition] {
        model.links.compactMap { link in (link as? Entry).flatMap(CollectionPosition.init) }
    }

    /// Inserts the model again, because the server has not deleted it.
    func restoreUnrecorded(_ model: Model) { core.reading { restore(model) } }

    /// Inserts the model again, unless the collection has another with its id by now.
    func restore(_ model: Model) {
        guard core.entries[model.untrackedID] == nil else { return }
        let isUnchanged = core.memberChanges == memberChanges
        core.reinsert(model, before: follower, pinnedAt: pinnedIndex)
        if isUnchanged { core.hasChangedMembers = hadChangedMembers }
    }

    /// The entry to insert the model before: the entry that followed it, if that is still there. Otherwise the first
    /// entry with a greater label; `nil` for the end, also if the model was the last one and no other came after the
    /// one before it, whose label may have changed.
    private var follower: Entry? {
        if next == nil, core.order.last?.model === previous { return nil }
        return next.flatMap(core.entry) ?? core.order.first { $0.label > label }
    }
}

extension CollectionCore {
    /// Returns whether the deletion of an object waits in the queue.
    func isDeletionQueued(_ model: Model) -> Bool {
        guard let context else { return false }
        return context.pendingDeletions.values.contains { $0.model === model }
            || context.calls(of: model).endInDeletion
    }

    /// Returns whether the deletion of an object is being sent. The server may have deleted it already.
    func isBeingDestroyed(_ model: Model) -> Bool {
        context?.order.destroying.contains(ModelKey(type, model.untrackedID)) ?? false
    }

    /// Returns whether the server has deleted an object, or may do so soon.
    func isGone(_ model: Model) -> Bool {
        model.tracking.isDestroyed || isDeletionQueued(model) || isBeingDestroyed(model)
    }
}

extension Model {
    /// Removes the model from every collection. No history records it, because the server deletes the object, or has
    /// not created it.
    final func leaveUnrecorded() {
        for link in links { (link as? Entry)?.owner?.reading { link.leave() } }
    }
}
