import DiamondModel
import DiamondTable
import DiamondTestSupport
import DiamondTesting
import Testing

@Suite("The editing of a table") struct TableEditingTests {
    private let items = ModelCollection<Item>.items("aaabb")

    private func table(_ editing: RowEditing<Item>? = RowEditing(), isSectioned: Bool = false) -> SimulatedTable {
        if isSectioned {
            var rule = SectionRule<Item>.by(\.group)
            rule.permanentKeys = ["c"]
            items.sectionRule = rule
        }
        return SimulatedTable(TableSource([.rows(["x"]), .collection(items, editing: editing)]), content: label)
    }

    private var mapped: RowEditing<Item> {
        RowEditing(changeSection: { item, key in
            item.group = key
            return true
        })
    }

    private func path(_ section: Int, _ row: Int) -> RowPath { RowPath(section: section, row: row) }

    // MARK: Moving

    @Test(arguments: [(0, 4), (4, 0), (1, 2), (2, 1), (3, 3)])
    func `a drag moves the model without a batch or a reload`(from: Int, to: Int) {
        let table = table()
        var ids = [1, 2, 3, 4, 5]
        ids.insert(ids.remove(at: from), at: to)
        table.drag(from: path(1, from), to: path(1, to))
        #expect(items.map(\.id) == ids)
        #expect(table.batches == 0 && table.reloads == 1)
        #expect(table.problem == nil)
    }

    @Test func `a drag to one past the end moves the row to the end`() {
        let table = table()
        table.drag(from: path(1, 0), to: path(1, 5))
        #expect(items.map(\.id) == [2, 3, 4, 5, 1])
        #expect(table.batches == 0 && table.reloads == 1)
        #expect(table.problem == nil)
    }

    @Test func `a drag is a batch for other tables with the same collection`() {
        let table = table()
        let other = SimulatedTable(TableSource([.collection(items)]))
        table.drag(from: path(1, 0), to: path(1, 2))
        #expect(other.batches == 1)
        #expect(other.problem == nil && table.problem == nil)
    }

    @Test func `a drag into another section changes the model as the app says`() {
        let table = table(mapped, isSectioned: true)
        table.drag(from: path(1, 0), to: path(2, 1))
        #expect(items.map(\.id) == [2, 3, 4, 1, 5])
        #expect(items.map(\.group) == ["a", "a", "b", "b", "b"])
        #expect(table.batches == 0 && table.reloads == 1 && table.reconfigurations == 1)
        #expect(table.problem == nil)
    }

    @Test func `a drag may end one past the end of another section, or in an empty section`() {
        let table = table(mapped, isSectioned: true)
        table.drag(from: path(1, 0), to: path(2, 3))
        table.drag(from: path(1, 0), to: path(3, 0))
        #expect(items.sections.map { items[$0.indices].map(\.id) } == [[3], [4, 5, 1], [2]])
        #expect(table.batches == 0 && table.reloads == 1)
        #expect(table.problem == nil)
    }

    @Test func `dragging the last row out of a section deletes the section in a batch`() {
        let table = table(mapped, isSectioned: true)
        table.drag(from: path(2, 0), to: path(1, 0))
        table.drag(from: path(2, 0), to: path(1, 0))
        #expect(items.sections.map(\.key) == ["a", "c"])
        #expect(items.map(\.id) == [5, 4, 1, 2, 3])
        #expect(table.batches == 1 && table.reloads == 1)
        #expect(table.problem == nil)
    }

    @Test func `a drag into a section that the app refuses moves the row back in a batch`() {
        let table = table(RowEditing(changeSection: { _, _ in false }), isSectioned: true)
        table.drag(from: path(1, 0), to: path(2, 1))
        #expect(items.map(\.id) == [1, 2, 3, 4, 5])
        #expect(table.batches == 1 && table.reloads == 1)
        #expect(table.problem == nil)
    }

    @Test func `a drag to a position that is not allowed reloads the table`() {
        let table = table(isSectioned: true)
        for target in [path(2, 0), path(0, 1)] {
            table.drag(from: path(1, 0), to: target)
            #expect(table.problem == nil)
        }
        table.drag(from: path(0, 0), to: path(1, 0))
        #expect(items.map(\.id) == [1, 2, 3, 4, 5])
        #expect(table.reloads == 4)
        #expect(table.problem == nil)
    }

    @Test func `a drag into a section moves the row back if the app does not change the model's section`() {
        let table = table(RowEditing(changeSection: { _, _ in true }), isSectioned: true)
        table.drag(from: path(1, 2), to: path(2, 0))
        #expect(items.map(\.group) == ["a", "a", "a", "b", "b"])
        #expect(table.problem == nil)
    }

    @Test func `a row that is dragged against the sort keys is moved back at the next sort`() {
        items.sortKeys = [.by(\.rank, named: "rank")]
        let table = table()
        table.drag(from: path(1, 0), to: path(1, 3))
        #expect(items.map(\.id) == [2, 3, 4, 1, 5])
        #expect(table.batches == 0)
        items.sort()
        #expect(items.map(\.id) == [1, 2, 3, 4, 5])
        #expect(table.batches == 1)
        #expect(table.problem == nil)
    }

    @Test func `changes during a drag wait, and the row is inserted between its new neighbors`() throws {
        let table = table()
        table.controller.isSuspended = true
        try items.remove(at: 4)
        try items.insert(Item.make(9), at: 0)
        items[1].version = 1
        table.drag(from: path(1, 0), to: path(1, 2))
        #expect(items.map(\.id) == [9, 2, 3, 1, 4])
        #expect(table.batches == 0)
        table.controller.isSuspended = false
        #expect(table.batches == 1 && table.reconfigurations == 1)
        #expect(table.problem == nil)
    }

    @Test func `a row that is removed while it is dragged is removed from the table`() throws {
        let table = table()
        table.controller.isSuspended = true
        try items.remove(at: 0)
        table.drag(from: path(1, 0), to: path(1, 2))
        table.controller.isSuspended = false
        #expect(items.map(\.id) == [2, 3, 4, 5])
        #expect(table.batches == 1)
        #expect(table.problem == nil)
    }

    @Test func `a canceled drag moves no row, and the changes during the drag are applied`() throws {
        let table = table()
        table.controller.isSuspended = true
        try items.remove(at: 3)
        table.controller.isSuspended = false
        #expect(table.batches == 1)
        #expect(table.problem == nil)
    }

    @Test func `a reset during a drag reloads the table`() {
        let table = table()
        items.resetLimit = 1
        table.controller.isSuspended = true
        items.removeAll { $0.id > 2 }
        table.drag(from: path(1, 0), to: path(1, 1))
        table.controller.isSuspended = false
        #expect(table.reloads == 2)
        #expect(table.problem == nil)
    }

    @Test func `a drag while a change is reported keeps the updates that are reported after the drag`() throws {
        var table: SimulatedTable?
        let token = items.observe { [items] changes in
            guard !changes.deletions.isEmpty else { return }
            items[1].version = 1
            table?.drag(from: RowPath(section: 1, row: 0), to: RowPath(section: 1, row: 1))
        }
        table = self.table()
        try items.remove(at: 4)
        #expect(items.map(\.id) == [2, 1, 3, 4])
        #expect(table?.reconfigurations == 1)
        #expect(table?.problem == nil)
        token.cancel()
    }

    @Test func `a suspension that the app begins during a drag continues after the drag`() throws {
        var table: SimulatedTable?
        table = self.table(RowEditing(onMove: { _, _ in table?.controller.isSuspended = true }))
        table?.drag(from: path(1, 0), to: path(1, 2))
        try items.remove(at: 0)
        #expect(table?.controller.isSuspended == true && table?.batches == 0)
        table?.controller.isSuspended = false
        #expect(table?.batches == 1)
        #expect(table?.problem == nil)
    }

    @Test func `a drag during a transaction is applied when the transaction ends`() {
        let table = table()
        items.transaction {
            table.drag(from: path(1, 0), to: path(1, 4))
            #expect(table.problem == nil)
        }
        #expect(items.map(\.id) == [2, 3, 4, 5, 1])
        #expect(table.problem == nil)
    }

    @Test func `the target of a drag is limited to the nearest allowed position`() {
        let source = table(RowEditing(canMove: { $0.id != 2 }), isSectioned: true).controller.source
        #expect(source.target(ofMoving: path(1, 0), to: path(1, 2)) == path(1, 2))
        #expect(source.target(ofMoving: path(1, 0), to: path(1, 9)) == path(1, 2))
        #expect(source.target(ofMoving: path(1, 0), to: path(2, 0)) == path(1, 2))
        #expect(source.target(ofMoving: path(2, 1), to: path(0, 0)) == path(2, 0))
        #expect(source.target(ofMoving: path(1, 1), to: path(1, 0)) == path(1, 1))
        #expect(source.target(ofMoving: path(0, 0), to: path(1, 0)) == path(0, 0))
        #expect(source.canMove(path(1, 0)) && !source.canMove(path(1, 1)) && !source.canMove(path(0, 0)))
        let mapped = table(mapped, isSectioned: true).controller.source
        #expect(mapped.target(ofMoving: path(1, 0), to: path(2, 9)) == path(2, 2))
        #expect(mapped.target(ofMoving: path(1, 0), to: path(9, 0)) == path(1, 2))
    }

    @Test func `a table reports moved rows to the app, and removes rows by the app's closure`() throws {
        var moved: [Int] = []
        let editing = RowEditing<Item>(
            onRemove: { items, item in items.delete(item) }, onMove: { _, item in moved.append(item.id) })
        let table = SimulatedTable(TableSource([.collection(items, editing: editing)]), content: label)
        table.drag(from: path(0, 0), to: path(0, 2))
        table.swipeToDelete(path(0, 1))
        #expect(moved == [1])
        #expect(items.deleted.map(\.id) == [3] && items.map(\.id) == [2, 1, 4, 5])
        let item = try #require(items.deleted.first)
        items.undelete(item)
        #expect(items.map(\.id) == [2, 3, 1, 4, 5])
        #expect(table.problem == nil)
    }

    @Test func `a drag or a removal in one part of a table updates another part with the same collection`() {
        let source = TableSource([
            .collection(items, editing: RowEditing()), .collection(items, editing: RowEditing()),
        ])
        let table = SimulatedTable(source, content: label)
        table.drag(from: path(0, 0), to: path(0, 2))
        table.swipeToDelete(path(1, 1))
        #expect(source.labels[0] == ["item 2", "item 1", "item 4", "item 5"])
        #expect(table.batches == 2)
        #expect(table.problem == nil)
    }

    // MARK: Removing and inserting

    @Test func `a removal is a batch, unless it is a swipe that the display has already shown`() {
        let table = table()
        #expect(table.controller.source.remove(at: path(1, 0)))
        #expect(table.batches == 1)
        table.swipeToDelete(path(1, 0))
        #expect(items.map(\.id) == [3, 4, 5])
        #expect(table.batches == 1 && table.reloads == 1)
        #expect(table.problem == nil)
    }

    @Test func `deleting the last row of a section by a swipe deletes the section in a batch`() {
        let table = table(isSectioned: true)
        table.swipeToDelete(path(2, 0))
        #expect(table.batches == 0)
        table.swipeToDelete(path(2, 0))
        #expect(table.batches == 1)
        #expect(table.problem == nil)
    }

    @Test func `a removal that is not allowed brings the row back`() {
        let table = table(RowEditing(canRemove: { _ in false }))
        #expect(!table.controller.source.remove(at: path(1, 0)))
        #expect(table.reloads == 1)
        table.swipeToDelete(path(1, 0))
        table.swipeToDelete(path(0, 0))
        #expect(items.count == 5)
        #expect(table.reloads == 3)
        #expect(table.problem == nil)
    }

    @Test func `changes during a swipe wait`() {
        let table = table()
        table.controller.isSuspended = true
        items.removeAll { $0.id < 3 }
        table.swipeToDelete(path(1, 0))
        table.swipeToDelete(path(1, 3))
        table.controller.isSuspended = false
        #expect(items.map(\.id) == [3, 4])
        #expect(table.batches == 1)
        #expect(table.problem == nil)
    }

    @Test func `a new model is inserted at the position of its row`() throws {
        let table = table(RowEditing(makeModel: { Item.make(9, group: $0) }), isSectioned: true)
        let source = table.controller.source
        #expect(source.canInsert(in: 2) && !source.canInsert(in: 0))
        #expect(try source.insert(at: path(2, 1)))
        #expect(items.sections.map { items[$0.indices].map(\.id) } == [[1, 2, 3], [4, 9, 5], []])
        #expect(throws: ModelError.self) { try source.insert(at: path(3, 0)) }
        #expect(try !source.insert(at: path(0, 0)) && !source.insert(at: path(7, 0)))
        #expect(table.batches == 1)
        #expect(table.problem == nil)
    }

    @Test func `a collection without editing allows no move, removal or insertion`() throws {
        let table = table(nil)
        let source = table.controller.source
        #expect(!source.canMove(path(1, 0)) && !source.canRemove(path(1, 0)) && !source.canInsert(in: 1))
        #expect(try !source.insert(at: path(1, 0)))
    }

    @Test func `a new display is told that the table is being edited`() {
        let table = table()
        table.controller.isEditing = true
        let other = SimulatedTable(TableSource([]))
        table.controller.display = other
        #expect(other.isEditing)
    }

    @Test func `the controls for editing are shown and hidden`() {
        let table = table()
        table.controller.isEditing = true
        #expect(table.isEditing)
        table.controller.isEditing = false
        #expect(!table.isEditing)
    }
}
