import DiamondModel
import DiamondTable
import DiamondTestSupport
import DiamondTesting
import Testing

@Suite("The controller of a table") struct TableControllerTests {
    private let items = ModelCollection<Item>.items("aabb")
    private let others = ModelCollection<Item>.items("cc")
    private let source: TableSource
    private let table: SimulatedTable

    init() {
        source = TableSource([.rows(["x"]), .collection(items), .collection(others)])
        table = SimulatedTable(source, content: label)
    }

    @Test
    func
        `A change is a batch with the offset of its part's first section, followed by the updates at their new positions`()
        throws
    {
        try others.transaction {
            others[1].version = 1
            try others.insert(Item.make(9), at: 0)
        }
        #expect(source.labels[2] == ["item 9", "item 1", "item 2.1"])
        #expect(table.batches == 1 && table.reconfigurations == 1 && table.reloads == 1)
        #expect(table.problem == nil)
    }

    @Test func `sections that are inserted and deleted shift those of later parts`() throws {
        items.sectionRule = .by(\.group)
        #expect(source.numberOfSections == 4)
        try others.remove(at: 0)
        items.sectionRule = nil
        others[0].version = 1
        #expect(source.labels == [["x"], ["item 1", "item 2", "item 3", "item 4"], ["item 2.1"]])
        #expect(table.reloads == 1)
        #expect(table.problem == nil)
    }

    @Test func `a change beyond the limit reloads the table`() {
        items.resetLimit = 2
        items.removeAll()
        #expect(table.reloads == 2 && table.batches == 0)
        #expect(table.problem == nil)
    }

    @Test func `a table off screen is reloaded once per change`() throws {
        table.isOnScreen = false
        try items.remove(at: 0)
        items[0].version = 1
        #expect(table.batches == 0 && table.reconfigurations == 0 && table.reloads == 3)
        table.isOnScreen = true
        try items.remove(at: 0)
        #expect(table.batches == 1)
        #expect(table.problem == nil)
    }

    @Test func `changes wait while the controller is suspended`() throws {
        table.controller.isSuspended = true
        try items.remove(at: 0)
        try others.remove(at: 0)
        items[0].version = 1
        #expect(source.labels[1].count == 4)
        #expect(table.problem == nil)
        table.controller.isSuspended = false
        #expect(source.labels == [["x"], ["item 2.1", "item 3", "item 4"], ["item 2"]])
        #expect(table.batches == 2 && table.reconfigurations == 1)
        #expect(table.problem == nil)
    }

    @Test func `a change that is made during a batch is applied after the batch`() throws {
        var isFirst = true
        let table = SimulatedTable(source) { [items, others] object in
            if isFirst, (object as? Item)?.id == 9 {
                isFirst = false
                _ = try? items.remove(at: 0)
                others[0].version = 1
            }
            return label(object)
        }
        try items.add(Item.make(9))
        #expect(source.labels == [["x"], ["item 2", "item 3", "item 4", "item 9"], ["item 1.1", "item 2"]])
        #expect(table.batches == 2 && table.reconfigurations == 1)
        #expect(table.problem == nil)
    }

    @Test func `an observer that changes a collection causes another batch`() throws {
        let token = items.observe { [others] changes in
            if let row = changes.deletions.first { _ = try? others.add(Item.make(row.model.id + 50)) }
        }
        try items.remove(at: 0)
        #expect(source.labels[2] == ["item 1", "item 2", "item 51"])
        #expect(table.batches == 2)
        #expect(table.problem == nil)
        token.cancel()
    }

    @Test func `a change that is made while the display shows the loading state is applied`() {
        let display = Recorder()
        display.onShow = { [items] in items[0].version += 1 }
        let controller = TableController(TableSource([.collection(items)]))
        controller.display = display
        #expect(display.reconfigured == [RowPath(section: 0, row: 0)])
    }

    @Test func `a suspension that begins during a batch holds back the next change`() throws {
        let display = Recorder()
        let controller = TableController(source)
        controller.display = display
        controller.isSuspended = true
        try items.remove(at: 0)
        try others.remove(at: 0)
        display.onBatch = { controller.isSuspended = true }
        controller.isSuspended = false
        #expect(display.batches.count == 1)
        #expect(source.labels == [["x"], ["item 2", "item 3", "item 4"], ["item 1", "item 2"]])
        controller.isSuspended = false
        #expect(display.batches.count == 2)
    }

    @Test func `a display that is set during a suspension shows the changes that are applied`() throws {
        table.controller.isSuspended = true
        try items.remove(at: 0)
        let other = Recorder()
        table.controller.display = other
        #expect(other.reloads == 1 && source.labels[1].count == 4)
    }

    @Test func `many changes during a suspension are one reload`() {
        table.controller.isSuspended = true
        for _ in 0..<1000 { items[0].version += 1 }
        table.controller.isSuspended = false
        #expect(table.reloads == 2 && table.batches == 0)
        #expect(table.problem == nil)
    }

    // MARK: Titles

    @Test func `titles are those of the last change that was applied`() {
        items.sectionRule = titled("old")
        #expect(source.title(of: 1) == "old a" && source.sectionIndexTitles == ["OLD a", "OLD b"])
        table.controller.isSuspended = true
        items.sectionRule = titled("new")
        #expect(source.title(of: 1) == "old a" && source.sectionIndexTitles == ["OLD a", "OLD b"])
        let (reloads, batches) = (table.reloads, table.batches)
        table.controller.isSuspended = false
        #expect(source.title(of: 1) == "new a" && source.sectionIndexTitles == ["NEW a", "NEW b"])
        #expect(table.reloads == reloads + 1 && table.batches == batches)
        #expect(table.problem == nil)
    }

    @Test func `a section rule with the same titles does not reload the table`() throws {
        items.sectionRule = titled("old")
        let reloads = table.reloads
        try items.transaction {
            items.sectionRule = titled("old")
            try items.remove(at: 0)
        }
        #expect(table.reloads == reloads)
        #expect(table.problem == nil)
    }

    @Test func `a section rule that changes before a drag in a suspension changes the titles after the suspension`() {
        let source = TableSource([.collection(items, editing: RowEditing())])
        let table = SimulatedTable(source, content: label)
        items.sectionRule = titled("old")
        table.controller.isSuspended = true
        items.sectionRule = titled("new")
        table.drag(from: RowPath(section: 0, row: 0), to: RowPath(section: 0, row: 1))
        #expect(source.title(of: 0) == "old a" && source.footer(of: 0) == nil)
        let reloads = table.reloads
        table.controller.isSuspended = false
        #expect(source.title(of: 0) == "new a" && table.reloads == reloads + 1)
        #expect(table.problem == nil)
    }

    private func titled(_ name: String) -> SectionRule<Item> {
        var rule = SectionRule<Item>.by(\.group)
        rule.title = { "\(name) \($0)" }
        rule.indexTitle = { "\(name.uppercased()) \($0)" }
        return rule
    }

    // MARK: Sources

    @Test func `the late changes of a replaced source are ignored`() throws {
        let next = TableSource([.collection(others)])
        table.controller.source = next
        #expect(table.reloads == 2)
        try items.remove(at: 0)
        #expect(table.reloads == 2 && table.batches == 0)
        try others.remove(at: 0)
        #expect(table.batches == 1)
        #expect(table.problem == nil)
        table.controller.source = source
        #expect(source.labels == [["x"], ["item 2", "item 3", "item 4"], ["item 2"]])
        #expect(table.problem == nil)
    }

    @Test func `a new source that is set during a batch takes effect after the batch`() throws {
        let next = TableSource([.collection(others)])
        var table: SimulatedTable?
        table = SimulatedTable(source) { object in
            if (object as? Item)?.id == 9 { table?.controller.source = next }
            return label(object)
        }
        try items.add(Item.make(9))
        #expect(table?.controller.source === next)
        #expect(table?.shown.map { $0.map(\.content) } == [["item 1", "item 2"]])
        #expect(table?.problem == nil)
    }

    @Test func `a new source that is set during a suspension takes effect after the suspension`() throws {
        let next = TableSource([.collection(others)])
        table.controller.isSuspended = true
        table.controller.source = next
        try items.remove(at: 0)
        #expect(table.controller.source === source)
        #expect(table.problem == nil)
        table.controller.isSuspended = false
        #expect(table.controller.source === next)
        #expect(table.problem == nil)
    }

    @Test func `a source that is given to a second table leaves the first table empty`() throws {
        let second = SimulatedTable(source, content: label)
        #expect(table.shown.isEmpty)
        try items.remove(at: 0)
        #expect(second.batches == 1)
        #expect(table.problem == nil && second.problem == nil)
    }

    @Test func `a source follows its collection after its table is deallocated`() throws {
        var gone: SimulatedTable? = SimulatedTable(TableSource([.collection(items)]))
        weak let display = gone
        let source = gone?.controller.source
        gone = nil
        #expect(display == nil)
        try items.remove(at: 0)
        #expect(source?.labels == [["item 2", "item 3", "item 4"]])
    }

    @Test func `a source without a table is deallocated although its collection is alive`() {
        weak var former: TableSource?
        do {
            let source = TableSource([.collection(items), .fields(of: Contact.make(), Contact.fields)])
            former = source
        }
        #expect(former == nil)
    }

    @Test func `a display that does not perform a batch is reloaded`() throws {
        let display = Recorder()
        display.isLazy = true
        let controller = TableController(TableSource([.collection(items)]))
        controller.display = display
        try items.remove(at: 0)
        #expect(display.reloads == 2)
        #expect(controller.source.labels == [["item 2", "item 3", "item 4"]])
        controller.isEditing = true
        display.lateUpdate?()
        #expect(controller.source.labels == [["item 2", "item 3", "item 4"]])
    }
}

/// A display that records its calls.
private final class Recorder: TableDisplay {
    private(set) var reloads = 0
    private(set) var batches: [TableBatch] = []
    private(set) var reconfigured: [RowPath] = []
    /// Whether the block of a batch is kept for later, against the rules.
    var isLazy = false
    private(set) var lateUpdate: (() -> Void)?
    var isOnScreen: Bool { true }

    func performBatch(_ batch: TableBatch, update: @escaping () -> Void) {
        batches.append(batch)
        onBatch()
        if isLazy { lateUpdate = update } else { update() }
    }

    var onBatch: () -> Void = {}
    var onShow: () -> Void = {}
    func show(_ presentation: Presentation, more: NextPageState) { onShow() }
    func reload() { reloads += 1 }
    func reconfigure(_ paths: [RowPath]) { reconfigured += paths }
}
