import Diamond

/// A change that is visible before the server has confirmed it, with the states that a rollback needs.
///
/// While its save runs, the object lists it in ``ModelSyncing/changes``: the refusal of an earlier change becomes a
/// part of the states of later ones, and so does what the server confirms.
final class VisibleChange {
    private let before: SaveSnapshot
    private let after: SaveSnapshot

    /// Makes a change in one transaction.
    init<Object: Model>(of model: Object, _ change: (Object) -> Void) {
        before = SaveSnapshot(of: model)
        model.transaction { change(model) }
        after = SaveSnapshot(of: model, after: before)
    }

    /// Throws ``ModelError`` `invalid` if setters have refused values of the change.
    func check() throws {
        let rejections = after.newRejections(since: before)
        if !rejections.isEmpty { throw ModelError.invalid(rejections) }
    }

    /// Restores each earlier value, unless it was set after the change. Ends the change.
    func rollBack(_ model: Model) {
        let later = model.syncing.changes.drop { $0 !== self }.dropFirst()
        model.syncing.end(self)
        before.restore(model, where: after, later: later.map { SaveSnapshot.Pair(before: $0.before, after: $0.after) })
    }

    /// Makes a value of the object, or of a nested one, that the server has confirmed a clean one in both states.
    func confirm(_ value: Any, of property: AnyProperty, on model: Model) {
        for state in [before, after] { state.state(of: model)?.confirm(value, of: property) }
    }

    /// Makes members of a nested collection that the server has confirmed unchanged ones in both states.
    func confirm(_ members: [Model], of core: CollectionCore) {
        for state in [before, after] { state.confirm(members, of: core) }
    }
}

extension ModelSyncing {
    /// Ends a change: its save was answered.
    func end(_ change: VisibleChange) { changes.removeAll { $0 === change } }
}
