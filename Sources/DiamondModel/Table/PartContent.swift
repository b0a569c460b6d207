/// The sections that a part contributes to a table, as they were last applied. Paths count within the part.
///
/// An abstract class.
class PartContent {
    /// The closure to be called when ``nextStep()`` has something to return.
    var didChange: () -> Void = {}

    var sectionCount: Int { 0 }
    func rowCount(in section: Int) -> Int { 0 }
    func object(at path: RowPath) -> Any { () }
    /// The identity of a row, which it keeps while its content changes.
    func id(at path: RowPath) -> AnyHashable { 0 }
    func path(of object: Any) -> RowPath? { nil }
    /// The path of the row with an id, whose object is given as well.
    func path(id: AnyHashable, of object: Any) -> RowPath? { path(of: object) }

    func title(of section: Int) -> String? { nil }
    func footer(of section: Int) -> String? { nil }
    func indexTitle(of section: Int) -> String? { nil }
    /// Whether one index title stands before another.
    func precedes(_ left: String, _ right: String) -> Bool { left < right }

    /// The next change that was not applied yet; `nil` when there is none.
    func nextStep() -> TableStep? { nil }

    // MARK: Editing

    func canRemove(_ path: RowPath) -> Bool { false }
    func canMove(_ path: RowPath) -> Bool { false }
    /// The place that a row may be moved to, as near to the proposed one as it gets.
    func target(ofMoving path: RowPath, to proposed: RowPath) -> RowPath { path }
    /// Removes the model of a row, which the display has taken out already if it `isShown`.
    func remove(at path: RowPath, isShown: Bool) {}
    /// Moves the model of a row that the display has moved; `false` when it may not be there.
    func move(from path: RowPath, to target: RowPath) -> Bool { false }
    func canInsert(in section: Int) -> Bool { false }
    func insert(at path: RowPath) throws -> Bool { false }
}

extension PartContent {
    func contains(_ path: RowPath) -> Bool {
        (0..<sectionCount).contains(path.section) && (0..<rowCount(in: path.section)).contains(path.row)
    }
}

/// A change that is to be applied: a batch, during which the state switches, and then the updates.
struct TableStep {
    /// Empty where the display shows the change already.
    var batch = TableBatch()
    /// The rows to configure again, by their new places.
    var updates: [RowPath] = []
    /// Whether there is no batch for the change.
    var needsReload = false
    /// Switches the state.
    var apply: () -> Void

    func offset(by sections: Int) -> TableStep {
        var step = self
        step.batch = batch.offset(by: sections)
        step.updates = updates.map { $0.offset(by: sections) }
        return step
    }
}
