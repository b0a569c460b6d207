import DiamondModel
import DiamondTable
import DiamondTestSupport
import DiamondTesting
import Testing

/// A table on Linux, from models to text.
@MainActor
@Suite("A table in a terminal") struct TerminalTableTests {
    private struct Broken: Error {}

    private var registry: RepresentationRegistry<String> {
        let registry = RepresentationRegistry<String>(fallback: { "⚠︎ \(type(of: $0))" })
        registry.register(Item.self) { item, state in
            "\(state.contains(.selected) ? "▸" : "#")\(item.id) \(item.group) v\(item.version)"
        }
        registry.register(String.self) { text, state in state.contains(.highlighted) ? text.uppercased() : text }
        return registry
    }

    @Test func `a table is drawn as it changes`() async throws {
        let items = ModelCollection<Item>()
        var rule = SectionRule<Item>.by(\.group)
        rule.title = { "Group \($0)" }
        items.sectionRule = rule
        let contact = Contact.make()
        let source = TableSource([
            .fields(of: contact, header: "Contact", [.value(\.name), .values(\.phones), .model(\.employer)]),
            .collection(items, editing: RowEditing()), .rows(["About", 7], footer: "Version 1"),
        ])
        let table = TerminalTable(source, registry)
        #expect(
            table.text == """
                — Contact —
                  Ada
                  1
                  2
                  #100 a v0
                  About
                  ⚠︎ Int
                  (Version 1)
                """)

        try items.transaction {
            for (id, group) in [(1, "b"), (2, "a"), (3, "b")] { try items.add(Item.make(id, group: group)) }
        }
        contact.phones = ["2", "3"]
        items[id: 3]?.version = 1
        source.select(RowPath(section: 2, row: 0))
        source.highlight(RowPath(section: 0, row: 0))
        items[id: 2]?.group = "b"
        table.controller.isEditing = true
        #expect(
            table.text == """
                — Contact —
                ≡ ADA
                ≡ 2
                ≡ 3
                ≡ #100 a v0
                — Group b —
                ≡ ▸1 b v0
                ≡ #2 b v0
                ≡ #3 b v1
                ≡ About
                ≡ ⚠︎ Int
                  (Version 1)
                """)
        #expect(
            table.log == [
                "reload", "-0 +0 ↕0", "-1 +1 ↕0", "draw 2.1", "draw 2.0", "draw 0.0", "-0 +1 ↕0",
            ])
    }

    @Test func `a table shows the state of its load`() async {
        let items = ModelCollection<Item>()
        let loading = SimulatedLoading(items)
        let source = TableSource([.collection(items)], loading: items)
        source.describeError = { _ in "no luck" }
        let table = TerminalTable(source, registry)
        var texts = [table.text]
        loading.failure = Broken()
        await source.refresh()
        texts.append(table.text)
        loading.failure = nil
        loading.pages = 3
        await source.refresh()
        texts.append(table.text)
        loading.pageSize = 1
        await source.refresh()
        texts.append(table.text)
        loading.during = { [unowned table] in texts.append(table.text) }
        loading.failure = Broken()
        await source.loadMore(showing: nil)
        texts.append(table.text)
        #expect(
            texts == [
                "", "Error: no luck [Retry]", "Nothing here", "  #1 a v0\n▾ more",
                "  #1 a v0\n▾ loading …", "  #1 a v0\n▾ no luck [Retry]",
            ])
    }

    @Test func `rows that are drawn together load one page`() async {
        let items = ModelCollection<Item>()
        let loading = SimulatedLoading(items)
        loading.pageSize = 2
        loading.pages = 9
        let source = TableSource([.collection(items)], loading: items)
        await source.refresh()
        let tasks = (0..<2).map { row in Task { await source.loadMore(showing: RowPath(section: 0, row: row)) } }
        for task in tasks { await task.value }
        #expect(loading.loads == 2)
        await source.loadMore(showing: RowPath(section: 0, row: 3))
        #expect(loading.loads == 3)
    }
}
