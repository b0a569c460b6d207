import DiamondModel

/// A change to apply to a display: a batch with the switch to the new state, then the updates.
struct TableStep {
    /// Empty if the display already shows the change.
    var batch = TableBatch()
    /// The rows to configure again, by their new paths.
    var updates: [RowPath] = []
    /// Whether the display has to reload, because there is no batch for the change.
    var needsReload = false
    /// Switches to the new state.
    var apply: () -> Void

    func offset(by sections: Int) -> TableStep {
        var step = self
        step.batch = batch.offset(by: sections)
        step.updates = updates.map { $0.offset(by: sections) }
        return step
    }
}
