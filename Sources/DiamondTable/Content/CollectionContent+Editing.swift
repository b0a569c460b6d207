import DiamondModel

extension CollectionContent {
    func canRemove(_ path: RowPath) -> Bool {
        guard contains(path), let editing else { return false }
        return editing.canRemove(sections[path.section].rows[path.row])
    }

    func canMove(_ path: RowPath) -> Bool { movableModel(at: path) != nil }

    func canInsert(in section: Int) -> Bool { editing?.makeModel != nil }

    /// Returns the model of a row that may be moved, or `nil`.
    func movableModel(at path: RowPath) -> Object? {
        guard contains(path), let editing else { return nil }
        let model = sections[path.section].rows[path.row]
        return editing.canMove(model) ? model : nil
    }

    /// Returns the nearest allowed path to a proposed one. The proposed path may be one past the end, or in a section
    /// that the row may not move to.
    func target(ofMoving path: RowPath, to proposed: RowPath) -> RowPath {
        guard movableModel(at: path) != nil else { return path }
        let isForeign = editing?.changeSection == nil || !sections.indices.contains(proposed.section)
        if proposed.section != path.section, isForeign {
            let isBefore = proposed.section < path.section
            return RowPath(section: path.section, row: isBefore ? 0 : sections[path.section].rows.count - 1)
        }
        let last = sections[proposed.section].rows.count - (proposed.section == path.section ? 1 : 0)
        return RowPath(section: proposed.section, row: min(max(proposed.row, 0), last))
    }

    /// Moves the model of a row that the display has moved.
    ///
    /// - Returns: Whether the row may be there.
    func move(from path: RowPath, to proposed: RowPath) -> Bool {
        let target = self.target(ofMoving: path, to: proposed)
        guard let model = movableModel(at: path), target.section == proposed.section else { return false }
        if target == path { return true }
        sections[path.section].rows.remove(at: path.row)
        sections[target.section].rows.insert(model, at: target.row)
        isDiverged = true
        collection.transaction {
            guard collection.contains(model), assign(model, toSection: sections[target.section].key),
                let index = collection.index(of: model),
                let newIndex = collectionIndex(of: model, movedFrom: index, to: target)
            else { return }
            try? collection.move(from: index, to: newIndex)
            editing?.onMove(collection, model)
        }
        didChange()
        return true
    }

    /// Changes a model so that it belongs to a section.
    ///
    /// - Returns: Whether it may be in the section.
    private func assign(_ model: Object, toSection key: String) -> Bool {
        guard let rule = collection.sectionRule, rule.key(model) != key else { return true }
        return editing?.changeSection?(model, key) ?? false
    }

    /// Returns the index in the collection for a row that was moved in the table.
    ///
    /// Uses the neighbors in the table, because the collection may have changed since the state that the table shows.
    private func collectionIndex(of model: Object, movedFrom index: Int, to target: RowPath) -> Int? {
        let section = collection.path(of: model)?.section
        let rows = sections[target.section].rows
        func isNeighbor(_ other: Object) -> Bool { collection.path(of: other).map { $0.section == section } ?? false }
        if let next = rows[(target.row + 1)...].first(where: isNeighbor), let other = collection.index(of: next) {
            return other > index ? other - 1 : other
        }
        if let previous = rows[..<target.row].last(where: isNeighbor), let other = collection.index(of: previous) {
            return other < index ? other + 1 : other
        }
        return nil
    }

    func remove(at path: RowPath, isShown: Bool) {
        let model = sections[path.section].rows[path.row]
        let remove = editing?.onRemove ?? { $0.remove($1) }
        guard isShown else { return remove(collection, model) }
        sections[path.section].rows.remove(at: path.row)
        isDiverged = true
        collection.transaction { remove(collection, model) }
        didChange()
    }

    func insert(at path: RowPath) throws -> Bool {
        guard sections.indices.contains(path.section), let model = editing?.makeModel?(sections[path.section].key)
        else {
            return false
        }
        let rows = sections[path.section].rows
        let next = rows[min(max(path.row, 0), rows.count)...].lazy.compactMap { self.collection.index(of: $0) }.first
        let previous = rows.last.flatMap { collection.index(of: $0) }
        return try collection.insert(model, at: next ?? previous.map { $0 + 1 } ?? collection.count)
    }
}
