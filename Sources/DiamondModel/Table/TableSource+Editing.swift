extension TableSource {
    /// Returns whether a row may be removed.
    public func canRemove(_ path: RowPath) -> Bool { place(of: path).map { $0.part.canRemove($0.path) } ?? false }

    /// Returns whether a row may be moved.
    public func canMove(_ path: RowPath) -> Bool { place(of: path).map { $0.part.canMove($0.path) } ?? false }

    /// Returns whether rows may be inserted into a section.
    public func canInsert(in section: Int) -> Bool {
        place(ofSection: section).map { $0.part.canInsert(in: $0.path.section) } ?? false
    }

    /// Returns the place that a row may be moved to, as near to the proposed one as it gets.
    ///
    /// - Parameters:
    ///   - path: the row's place.
    ///   - proposed: the place that the row would have afterwards.
    public func target(ofMoving path: RowPath, to proposed: RowPath) -> RowPath {
        guard let place = place(of: path) else { return path }
        return place.part.target(ofMoving: place.path, to: proposed.offset(by: -place.offset)).offset(by: place.offset)
    }

    /// Removes the model of a row from its collection.
    ///
    /// - Parameters:
    ///   - path: the row's place.
    ///   - isShown: whether the display has taken the row out already, so that there is nothing to be performed.
    /// - Returns: whether the row may be removed. Where it may not and the display has taken it out, the display reloads.
    @discardableResult
    public func remove(at path: RowPath, isShown: Bool = false) -> Bool {
        guard !needsReload, canRemove(path), let place = place(of: path) else { return refuse(isShown: isShown) }
        place.part.remove(at: place.path, isShown: isShown)
        return true
    }

    /// Moves the model of a row in its collection, after the display has moved the row.
    ///
    /// One past the end of a section stands for its end. In another section the model is changed first by
    /// ``RowEditing/changeSection``. Where the collection decides otherwise, by its sort keys or because of a change that has
    /// come meanwhile, the display is corrected by a batch; where the row may not be moved there at all, it reloads.
    ///
    /// - Parameters:
    ///   - path: the row's old place.
    ///   - target: the place that the row has now.
    /// - Returns: whether the row may be moved there.
    @discardableResult
    public func move(from path: RowPath, to target: RowPath) -> Bool {
        guard !needsReload, let place = place(of: path),
            place.part.move(from: place.path, to: target.offset(by: -place.offset))
        else {
            return refuse(isShown: true)
        }
        return true
    }

    /// Inserts a new model, which ``RowEditing/makeModel`` makes, before the row at a path.
    ///
    /// - Returns: whether there is a new model.
    /// - Throws: ``ModelError`` as ``ModelCollection/insert(_:at:)`` does.
    @discardableResult
    public func insert(at path: RowPath) throws -> Bool {
        guard let place = place(ofSection: path.section) else { return false }
        return try place.part.insert(at: RowPath(section: place.path.section, row: path.row))
    }

    private func refuse(isShown: Bool) -> Bool {
        if isShown {
            needsReload = true
            apply()
        }
        return false
    }
}
