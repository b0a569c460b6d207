public import DiamondTable

extension SimulatedTable: TableDisplay {
    public func performBatch(_ batch: TableBatch, update: @escaping () -> Void) {
        if !isOnScreen { fail("a batch arrived while the table is off screen") }
        batches += 1
        exclusively("a batch") { try performBatchUpdates(batch, source: self, update: update) }
    }

    public func reload() {
        reloads += 1
        exclusively("a reload") { reload(from: self) }
    }

    public func reconfigure(_ paths: [RowPath]) {
        if !isOnScreen { fail("an update arrived while the table is off screen") }
        reconfigurations += paths.count
        exclusively("an update") { try configure(paths, source: self) }
    }

    public func show(_ presentation: Presentation, more: NextPageState) {
        self.presentation = presentation
        self.more = more
        needsMore = more == .ready
    }

    public func setEditing(_ isEditing: Bool) { self.isEditing = isEditing }

    /// Runs a change of the table. Records a failure if it throws, or if another change is running.
    private func exclusively(_ name: String, _ body: () throws -> Void) {
        if isBusy { return fail("\(name) arrived during another change") }
        isBusy = true
        defer { isBusy = false }
        do { try body() } catch { fail("\(error)") }
    }

    private func fail(_ reason: String) { failures.append(reason) }
}

extension SimulatedTable: SimulatedTableSource {
    private var source: TableSource { controller.source }

    package var counts: [Int] { (0..<source.numberOfSections).map { source.numberOfRows(in: $0) } }

    package func cell(at path: RowPath) -> Cell {
        guard let id = source.rowID(at: path), let object = source.representedObject(at: path) else {
            fail("the source has no row at \(path)")
            return Cell(id: path, content: "")
        }
        return Cell(id: id, content: content(object), state: source.state(at: path))
    }

    /// Returns the JSON of a model, or the value itself.
    package static func content(_ object: Any) -> AnyHashable {
        if let model = object as? Model { return model.json }
        return object as? AnyHashable ?? AnyHashable(String(describing: object))
    }

    /// The cells of the source's current rows.
    package var expected: [[Cell]] {
        counts.enumerated().map { section, count in (0..<count).map { cell(at: RowPath(section: section, row: $0)) } }
    }

    /// The first failure, or the first difference between the table's cells and its source; `nil` if there is none.
    ///
    /// Differences are ignored while the controller is suspended.
    public var problem: String? {
        if let failure = failures.first { return failure }
        if controller.isSuspended { return nil }
        let expected = expected
        guard shown.map(\.count) == expected.map(\.count) else {
            return "the table shows \(shown.map(\.count)) rows, and its source has \(expected.map(\.count))"
        }
        for (section, cells) in expected.enumerated() {
            for (row, cell) in cells.enumerated() {
                let other = shown[section][row]
                if other != cell {
                    return "the table shows \(other) at \(section).\(row), and its source asks for \(cell)"
                }
            }
        }
        return nil
    }
}

// MARK: Loading

extension SimulatedTable {
    /// Loads further pages as long as the rows on screen require it, as a view does automatically.
    public nonisolated(nonsending) func loadMore() async {
        while needsMore {
            needsMore = false
            await controller.source.loadMore(showing: lastRowOnScreen)
        }
    }

    private var lastRowOnScreen: RowPath? {
        let paths = shown.enumerated().flatMap { section, cells in
            cells.indices.map { RowPath(section: section, row: $0) }
        }
        return paths.prefix(rowsOnScreen).last
    }
}

// MARK: Gestures

extension SimulatedTable {
    /// Drags a row, as a user does: the table moves the row, then notifies the source.
    ///
    /// - Parameters:
    ///   - path: The path of the row.
    ///   - target: The path of the row after the move. A row past the end means the end.
    public func drag(from path: RowPath, to target: RowPath) {
        guard shown.indices.contains(path.section), shown[path.section].indices.contains(path.row),
            shown.indices.contains(target.section)
        else { return }
        let cell = shown[path.section].remove(at: path.row)
        let row = min(max(target.row, 0), shown[target.section].count)
        shown[target.section].insert(cell, at: row)
        end { controller.source.move(from: path, to: target) }
    }

    /// Removes a row, as a swipe does, then notifies the source.
    public func swipeToDelete(_ path: RowPath) {
        guard shown.indices.contains(path.section), shown[path.section].indices.contains(path.row) else { return }
        shown[path.section].remove(at: path.row)
        end { controller.source.remove(at: path, isShown: true) }
    }

    /// Ends a gesture: notifies the source without batches, which views do not accept during a gesture.
    private func end(_ notify: () -> Bool) {
        controller.hold()
        _ = notify()
        controller.release()
    }
}
