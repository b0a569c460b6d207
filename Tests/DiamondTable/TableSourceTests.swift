import DiamondModel
import DiamondTable
import DiamondTestSupport
import DiamondTesting
import Testing

@Suite("The source of a table") struct TableSourceTests {
    private let items = ModelCollection<Item>.items("aab")
    private let contact = Contact.make()

    private var parts: [TablePart] {
        [
            .rows(["first"], header: "Head", footer: "Foot"), .collection(items, header: "Items"),
            .fields(of: contact, header: "Fields", Contact.fields), .rows([]),
        ]
    }

    @Test func `the sections of the parts follow one another`() {
        let source = TableSource(parts)
        let fields = ["Ada", "1", "2", "item 100", "item 101"]
        #expect(source.labels == [["first"], ["item 1", "item 2", "item 3"], fields, []])
        #expect((0..<4).map { source.title(of: $0) } == ["Head", "Items", "Fields", nil])
        #expect((0..<4).map { source.footer(of: $0) } == ["Foot", nil, nil, nil])
    }

    @Test func `a collection brings its sections, titles and index titles`() {
        var rule = SectionRule<Item>.by(\.group)
        rule.title = { "Group \($0)" }
        rule.indexTitle = { $0.uppercased() }
        rule.precedes = { $0.lowercased() < $1.lowercased() }
        items.sectionRule = rule
        let source = TableSource([.rows(["x"]), .collection(items), .rows(["y"])])
        #expect(source.labels == [["x"], ["item 1", "item 2"], ["item 3"], ["y"]])
        #expect((0..<4).map { source.title(of: $0) } == [nil, "Group a", "Group b", nil])
        #expect(source.sectionIndexTitles == ["A", "B"])
        #expect(source.section(forIndexTitle: "B") == 2)
        #expect(source.section(forIndexTitle: "Q") == 2)
        #expect(source.section(forIndexTitle: "1") == 1)
    }

    @Test func `a source without index titles returns its first section for any index title`() {
        #expect(TableSource([.rows(["x"])]).section(forIndexTitle: "A") == 0)
        #expect(TableSource([]).section(forIndexTitle: "A") == 0)
    }

    @Test func `an object is found by its path, and its path by the object`() {
        let source = TableSource(parts)
        for section in 0..<source.numberOfSections {
            for row in 0..<source.numberOfRows(in: section) {
                let path = RowPath(section: section, row: row)
                #expect(source.representedObject(at: path).flatMap { source.path(of: $0) } == path)
            }
        }
        #expect(source.path(of: Item.make(9)) == nil)
        #expect(source.path(of: "nobody") == nil)
    }

    @Test(arguments: [(-1, 0), (4, 0), (0, -1), (0, 1), (3, 0), (Int.max, 0)])
    func `a path out of range has no object, row ID or state, and allows no change`(section: Int, row: Int) {
        let source = TableSource(parts)
        let path = RowPath(section: section, row: row)
        #expect(source.representedObject(at: path) == nil)
        #expect(source.rowID(at: path) == nil)
        #expect(!source.canMove(path) && !source.canRemove(path))
        #expect(source.state(at: path) == [])
        source.select(path)
        source.highlight(path)
        #expect(!source.remove(at: path) && !source.move(from: path, to: path))
        #expect(source.selection.isEmpty)
        #expect(source.numberOfRows(in: -1) == 0 && source.title(of: 9) == nil)
    }

    @Test func `rows of the same value have different identities`() {
        contact.phones = ["1", "1", "Ada"]
        let source = TableSource([.fields(of: contact, [.value(\.name), .values(\.phones)]), .rows(["Ada", "Ada"])])
        let ids = (0..<2).flatMap { section in
            (0..<source.numberOfRows(in: section)).map { source.rowID(at: RowPath(section: section, row: $0)) }
        }
        #expect(ids.count == 6)
        #expect(Set(ids).count == 6)
    }

    @Test func `a source answers from the last commit while a transaction is open`() {
        items.transaction {
            _ = try? items.add(Item.make(4))
            _ = try? items.remove(at: 0)
            let table = SimulatedTable(TableSource([.collection(items)]))
            #expect(table.controller.source.labels == [["item 1", "item 2", "item 3"]])
            items.sort()
            table.controller.source = TableSource([.collection(items)])
            #expect(table.controller.source.labels == [["item 1", "item 2", "item 3"]])
        }
    }

    @Test func `a source that is set during a transaction shows its changes at the end`() {
        let table = SimulatedTable(TableSource([]))
        items.transaction {
            _ = try? items.add(Item.make(4))
            table.controller.source = TableSource([.collection(items)])
            _ = try? items.remove(at: 0)
        }
        #expect(table.controller.source.labels == [["item 2", "item 3", "item 4"]])
        #expect(table.batches == 1)
        #expect(table.problem == nil)
    }

    @Test func `a source without a controller applies changes at once`() throws {
        let source = TableSource([.collection(items)])
        try items.add(Item.make(4))
        #expect(source.labels == [["item 1", "item 2", "item 3", "item 4"]])
    }

    @Test func `a static row with a model is updated when the model changes`() {
        let item = Item.make(1)
        let table = SimulatedTable(TableSource([.rows(["x", item])]))
        item.version = 1
        #expect(table.reconfigurations == 1)
        #expect(table.batches == 0)
        #expect(table.problem == nil)
    }
}
