extension CollectionContent {
    /// The row's model, if it may be moved.
    func movable(_ path: RowPath) -> Object? {
        guard contains(path), let editing else { return nil }
        let model = sections[path.section].rows[path.row]
        return editing.canMove(model) ? model : nil
    }

    /// The place nearest to a proposed one, which may be one past the end, or in a section that the row may not go to.
    func nearestTarget(ofMoving path: RowPath, to proposed: RowPath) -> RowPath {
        guard movable(path) != nil else { return path }
        let isForeign = editing?.changeSection == nil || !sections.indices.contains(proposed.section)
        if proposed.section != path.section, isForeign {
            let isBefore = proposed.section < path.section
            return RowPath(section: path.section, row: isBefore ? 0 : sections[path.section].rows.count - 1)
        }
        let last = sections[proposed.section].rows.count - (proposed.section == path.section ? 1 : 0)
        return RowPath(section: proposed.section, row: min(max(proposed.row, 0), last))
    }

    /// Moves a row that the display has moved, and returns whether it may be there.
    func moveShown(from path: RowPath, to proposed: RowPath) -> Bool {
        let target = nearestTarget(ofMoving: path, to: proposed)
        guard let model = movable(path), target.section == proposed.section else { return false }
        if target == path { return true }
        sections[path.section].rows.remove(at: path.row)
        sections[target.section].rows.insert(model, at: target.row)
        isDiverged = true
        collection.transaction {
            guard collection.contains(model), enter(model, sections[target.section].key),
                let index = collection.index(of: model), let goal = goal(of: model, at: index, target)
            else { return }
            try? collection.move(from: index, to: goal)
            editing?.onMove(collection, model)
        }
        didChange()
        return true
    }

    /// Brings a model into a section, and returns whether it may be there.
    private func enter(_ model: Object, _ key: String) -> Bool {
        guard let rule = collection.sectionRule, rule.key(model) != key else { return true }
        return editing?.changeSection?(model, key) ?? false
    }

    /// The index that a model is to have in the collection: by its neighbors in the table, because the collection may have
    /// changed since the state that the table shows.
    private func goal(of model: Object, at index: Int, _ target: RowPath) -> Int? {
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

    func removeRow(at path: RowPath, isShown: Bool) {
        let model = sections[path.section].rows[path.row]
        let remove = editing?.onRemove ?? { $0.remove($1) }
        guard isShown else { return remove(collection, model) }
        sections[path.section].rows.remove(at: path.row)
        isDiverged = true
        collection.transaction { remove(collection, model) }
        didChange()
    }

    func insertRow(at path: RowPath) throws -> Bool {
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
