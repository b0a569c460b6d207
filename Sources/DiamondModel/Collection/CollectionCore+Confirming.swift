import Diamond

/// The members that the server has, while other ones are set here.
extension CollectionCore {
    /// The ids of the members, in order.
    var ids: [ModelID] { order.map(\.model.untrackedID) }

    /// Notes that members are about to be added, removed or moved.
    func membersWillChange() {
        if isConfirming { hasOtherMembers = true } else { hasChangedMembers = true }
    }

    /// Runs `body`. The server has confirmed its changes of members, so they are not unsaved ones.
    func confirming<Result>(_ body: () throws -> Result) rethrows -> Result {
        let outer = isConfirming
        isConfirming = true
        defer { isConfirming = outer }
        return try body()
    }

    /// Notes that the server has models as members if they are here, and else has them no more.
    func confirmMembership(of models: [Model]) {
        guard var synced = syncedIDs, !models.isEmpty else { return }
        let changed = Set(models.flatMap { $0.tracking.ids })
        synced.removeAll(where: changed.contains)
        let known = Set(synced)
        let current = ids
        let lastKnown = current.lastIndex(where: known.contains) ?? -1
        var previous: ModelID?
        for (index, id) in current.enumerated() {
            let isChanged = changed.contains(id)
            guard isChanged || known.contains(id) else { continue }
            if isChanged {
                let isLast = index > lastKnown
                synced.insert(id, at: isLast ? synced.count : previous.flatMap(synced.firstIndex).map { $0 + 1 } ?? 0)
            }
            previous = id
        }
        syncedIDs = synced
        compareSyncedMembers()
    }

    /// Notes that the server has created a member, if the collection is the list of its class, and no property.
    func confirmCreation(of model: Model, in list: String) {
        guard owner == nil, let own = type.resource ?? source?.request, own.listName.isExactly(list) else {
            return
        }
        confirmMembership(of: [model])
    }

    /// Makes members unchanged ones if they are those that the server has, in the same order.
    func compareSyncedMembers() { if syncedIDs == ids { hasChangedMembers = false } }
}
