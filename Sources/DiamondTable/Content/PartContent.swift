import DiamondModel

/// The sections of a part of a table, as they were last applied to the display. Paths count within the part.
protocol PartContent: AnyObject {
    /// Called when ``nextStep()`` has a step to return.
    var didChange: () -> Void { get set }

    var sectionCount: Int { get }
    func rowCount(in section: Int) -> Int
    func object(at path: RowPath) -> Any
    /// Returns the identity of a row. It stays the same when the row's content changes.
    func id(at path: RowPath) -> AnyHashable
    func path(of object: Any) -> RowPath?
    /// Returns the path of the row with an id. `object` is the row's object.
    func path(id: AnyHashable, of object: Any) -> RowPath?

    func title(of section: Int) -> String?
    func footer(of section: Int) -> String?
    func indexTitle(of section: Int) -> String?
    /// Returns whether one index title sorts before another.
    func precedes(_ left: String, _ right: String) -> Bool

    /// Returns the next change that is not applied yet, or `nil`.
    func nextStep() -> TableStep?

    // MARK: Editing

    func canRemove(_ path: RowPath) -> Bool
    func canMove(_ path: RowPath) -> Bool
    /// Returns the nearest allowed path to the proposed one.
    func target(ofMoving path: RowPath, to proposed: RowPath) -> RowPath
    /// Removes the model of a row. If `isShown`, the display has already removed the row.
    func remove(at path: RowPath, isShown: Bool)
    /// Moves the model of a row that the display has moved. Returns `false` if the row may not be there.
    func move(from path: RowPath, to target: RowPath) -> Bool
    func canInsert(in section: Int) -> Bool
    func insert(at path: RowPath) throws -> Bool
}

extension PartContent {
    func contains(_ path: RowPath) -> Bool {
        (0..<sectionCount).contains(path.section) && (0..<rowCount(in: path.section)).contains(path.row)
    }

    // The defaults are those of a part with one section that cannot be edited.

    func path(id: AnyHashable, of object: Any) -> RowPath? { path(of: object) }
    func indexTitle(of section: Int) -> String? { nil }
    func precedes(_ left: String, _ right: String) -> Bool { left < right }
    func canRemove(_ path: RowPath) -> Bool { false }
    func canMove(_ path: RowPath) -> Bool { false }
    func target(ofMoving path: RowPath, to proposed: RowPath) -> RowPath { path }
    func remove(at path: RowPath, isShown: Bool) {}
    func move(from path: RowPath, to target: RowPath) -> Bool { false }
    func canInsert(in section: Int) -> Bool { false }
    func insert(at path: RowPath) throws -> Bool { false }
}

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
