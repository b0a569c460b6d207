/// A change that is visible before the server has confirmed it, with the states that a rollback needs.
struct VisibleChange {
    private let before: SaveState
    private let after: SaveState

    /// Makes a change in one transaction.
    init<Object: Model>(of model: Object, _ change: (Object) -> Void) {
        before = SaveState(of: model)
        model.transaction { change(model) }
        after = SaveState(of: model, after: before)
    }

    /// Throws ``ModelError`` `invalid` if setters have refused values of the change.
    func check() throws {
        let rejections = after.newRejections(since: before)
        if !rejections.isEmpty { throw ModelError.invalid(rejections) }
    }

    /// Restores each earlier value, unless it was set after the change.
    func rollBack(_ model: Model) { before.restore(model, where: after) }
}
