public import DiamondModel

extension TableSource {
    /// Returns whether a row can be removed.
    public func canRemove(_ path: RowPath) -> Bool { location(of: path).map { $0.part.canRemove($0.path) } ?? false }

    /// Returns whether a row can be moved.
    public func canMove(_ path: RowPath) -> Bool { location(of: path).map { $0.part.canMove($0.path) } ?? false }

    /// Returns whether rows can be inserted into a section.
    public func canInsert(in section: Int) -> Bool {
        location(ofSection: section).map { $0.part.canInsert(in: $0.path.section) } ?? false
    }

    /// Returns the nearest path to the proposed one that a row can be moved to.
    ///
    /// - Parameters:
    ///   - path: The row's path.
    ///   - proposed: The proposed path after the move.
    public func target(ofMoving path: RowPath, to proposed: RowPath) -> RowPath {
        guard let location = location(of: path) else { return path }
        return location.part.target(ofMoving: location.path, to: proposed.offset(by: -location.offset)).offset(
            by: location.offset)
    }

    /// Removes the model of a row from its collection.
    ///
    /// - Parameters:
    ///   - path: The row's path.
    ///   - isShown: Whether the display has already removed the row, so that it needs no batch.
    /// - Returns: Whether the row can be removed. If not, and the display has already removed it, the display reloads.
    @discardableResult
    public func remove(at path: RowPath, isShown: Bool = false) -> Bool {
        guard !needsReload, canRemove(path), let location = location(of: path) else { return refuse(isShown: isShown) }
        location.part.remove(at: location.path, isShown: isShown)
        return true
    }

    /// Moves the model of a row in its collection, after the display has moved the row.
    ///
    /// The row after the last one stands for the end of a section. For another section, `changeSection` of
    /// ``RowEditing`` changes the model first. If sort keys or a later change put the row somewhere else, a batch
    /// corrects the display. If the row cannot be moved there at all, the display reloads.
    ///
    /// - Parameters:
    ///   - path: The row's old path.
    ///   - target: The row's new path.
    /// - Returns: Whether the row can be moved there.
    @discardableResult
    public func move(from path: RowPath, to target: RowPath) -> Bool {
        guard !needsReload, let location = location(of: path),
            location.part.move(from: location.path, to: target.offset(by: -location.offset))
        else {
            return refuse(isShown: true)
        }
        return true
    }

    /// Inserts a new model from `makeModel` of ``RowEditing`` before the row at a path.
    ///
    /// - Returns: Whether a model was inserted.
    /// - Throws: `ModelError` as `ModelCollection.insert(_:at:)` does.
    @discardableResult
    public func insert(at path: RowPath) throws -> Bool {
        guard let location = location(ofSection: path.section) else { return false }
        return try location.part.insert(at: RowPath(section: location.path.section, row: path.row))
    }

    private func refuse(isShown: Bool) -> Bool {
        if isShown {
            needsReload = true
            apply()
        }
        return false
    }
}
