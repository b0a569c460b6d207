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
        // The changed members, by the known one before them.
        var following: [ModelID?: [ModelID]] = [:]
        var previous: ModelID?
        for id in ids {
            if changed.contains(id) { following[previous, default: []].append(id) }
            if known.contains(id) { previous = id }
        }
        // Those after the last known member are also after those that are not here.
        let last = following.removeValue(forKey: previous) ?? []
        syncedIDs =
            synced.reduce(into: following[nil] ?? []) { confirmed, id in
                confirmed.append(id)
                confirmed += following[id] ?? []
            } + last
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
