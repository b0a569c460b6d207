import DiamondModel
import DiamondTable
import DiamondTestSupport
import DiamondTesting
import Testing

@Suite("The selection of a table") struct TableSelectionTests {
    private let items = ModelCollection<Item>.items("aaa")
    private let source: TableSource
    private let table: SimulatedTable

    init() {
        source = TableSource([.rows(["x"]), .collection(items)])
        table = SimulatedTable(source, content: label)
    }

    private func path(_ row: Int) -> RowPath { RowPath(section: 1, row: row) }

    @Test func `a selection is reported with the model, to the receiver for its type`() {
        var heard: [String] = []
        source.onSelection(of: Item.self) { item, path in heard.append("\(item.id) at \(path)") }
        source.onSelection(of: Any.self) { object, _ in heard.append("any \(object)") }
        source.select(path(1))
        source.select(RowPath(section: 0, row: 0))
        #expect(heard == ["2 at 1.1", "any x"])
    }

    @Test func `a row is configured again when its state changes`() {
        source.select(path(1))
        #expect(table.shown[1].map(\.state) == [[], .selected, []])
        source.highlight(path(1))
        #expect(table.shown[1][1].state == [.selected, .highlighted])
        source.highlight(nil)
        source.deselect(path(1))
        #expect(table.shown[1].map(\.state) == [[], [], []])
        #expect(table.batches == 0 && table.reloads == 1)
        #expect(table.problem == nil)
    }

    @Test func `selecting a row deselects another row, unless multiple selection is allowed`() {
        source.select(path(2))
        source.select(path(0))
        #expect(source.selection.map(label) == ["item 1"])
        source.allowsMultipleSelection = true
        source.select(path(2))
        source.select(RowPath(section: 0, row: 0))
        #expect(source.selection.map(label) == ["x", "item 1", "item 3"])
        #expect(table.problem == nil)
    }

    @Test func `a table that no longer allows several selections reloads, and keeps the first`() {
        source.allowsMultipleSelection = true
        source.select(path(2))
        source.select(path(0))
        source.allowsMultipleSelection = false
        #expect(source.selection.map(label) == ["item 1"])
        #expect(table.reloads == 3)
        #expect(table.problem == nil)
    }

    @Test func `the selection state moves with its row, and ends when the row is removed`() throws {
        source.select(path(0))
        source.highlight(path(0))
        try items.move(from: 0, to: 2)
        #expect(source.state(at: path(2)) == [.selected, .highlighted])
        #expect(table.problem == nil)
        try items.remove(at: 2)
        #expect(source.selection.isEmpty)
        try items.add(Item.make(1))
        #expect(source.state(at: path(2)) == [])
        #expect(table.problem == nil)
    }

    @Test func `the state of a field stays while its value changes`() {
        let contact = Contact.make()
        let source = TableSource([.fields(of: contact, Contact.fields)])
        let table = SimulatedTable(source)
        source.select(RowPath(section: 0, row: 0))
        contact.name = "Grace"
        #expect(table.shown[0][0].state == .selected)
        #expect(source.selection.map(label) == ["Grace"])
        #expect(table.problem == nil)
    }

    @Test func `a selection handler may remove the selected row`() {
        source.onSelection(of: Item.self) { [items] item, _ in items.remove(item) }
        source.select(path(1))
        #expect(items.count == 2)
        #expect(source.selection.isEmpty)
        #expect(table.problem == nil)
    }
}
