import Diamond
import DiamondModel
import DiamondTesting
import Testing

@Suite struct TableLoadingTests {
    private let items = ModelCollection<Item>()
    private let loading: SimulatedLoading
    private let source: TableSource
    private let table: SimulatedTable

    private struct Broken: Error {}

    init() {
        loading = SimulatedLoading(items)
        source = TableSource([.collection(items)], loading: items)
        source.describeError = { _ in "broken" }
        table = SimulatedTable(source, content: label)
    }

    private func row(_ row: Int) -> RowPath { RowPath(section: 0, row: row) }

    @Test func `A table loads, then shows its content`() async {
        #expect(table.presentation == .nothing)
        loading.pageSize = 3
        var during: Presentation?
        loading.during = { [table] in during = table.presentation }
        await source.refresh()
        #expect(during == .loading)
        #expect(table.presentation == .content && table.more == TableMore.none)
        #expect(table.problem == nil)
    }

    @Test func `A table without anything loaded is empty`() async {
        await source.refresh()
        #expect(table.presentation == .empty)
        #expect(SimulatedTable(TableSource([.rows([])])).presentation == .empty)
        #expect(SimulatedTable(TableSource([.rows(["x"])])).presentation == .content)
    }

    @Test func `An error is shown while there are no rows, and a retry follows it`() async {
        loading.failure = Broken()
        await source.refresh()
        #expect(table.presentation == .error("broken"))
        loading.failure = nil
        loading.pageSize = 1
        await source.retry()
        #expect(table.presentation == .content)
        loading.failure = Broken()
        await source.refresh()
        #expect(table.presentation == .content)
        items.removeAll()
        #expect(table.presentation == .error("broken"))
        #expect(loading.loads == 3)
        #expect(table.problem == nil)
    }

    @Test func `A server that cannot be reached is offline`() async {
        var configuration = Engine.Configuration(store: nil)
        configuration.retry = .never
        let engine = Engine(configuration)
        do { _ = try await engine.send(Request("http://127.0.0.1:1/")) } catch { loading.failure = error }
        await source.refresh()
        #expect(table.presentation == .offline)
    }

    @Test func `More is claimed near the end, once, and again for the page after`() async {
        loading.pageSize = 20
        loading.pages = 3
        await source.refresh()
        #expect(table.more == .ready)
        #expect(!source.claimsMore(showing: row(14)))
        #expect(source.claimsMore(showing: row(15)))
        #expect(!source.claimsMore(showing: row(16)))
        var during: TableMore?
        loading.during = { [table] in during = table.more }
        await source.loadMore()
        #expect(during == .loading)
        #expect(items.count == 40)
        #expect(!source.claimsMore(showing: row(16)))
        #expect(source.claimsMore(showing: row(39)))
        await source.loadMore()
        #expect(table.more == TableMore.none)
        #expect(!source.claimsMore(showing: row(59)))
        #expect(table.problem == nil)
    }

    @Test func `After an error only a retry loads more`() async {
        loading.pageSize = 2
        loading.pages = 3
        await source.refresh()
        loading.failure = Broken()
        #expect(source.claimsMore(showing: row(1)))
        await source.loadMore()
        #expect(table.more == .failed("broken") && table.presentation == .content)
        #expect(!source.claimsMore(showing: row(1)))
        loading.failure = nil
        await source.retry()
        #expect(table.more == .ready)
        #expect(source.claimsMore(showing: row(3)))
    }

    @Test func `Rows of later sections count as rows before the end`() async {
        loading.pageSize = 2
        loading.pages = 2
        let source = TableSource([.collection(items), .rows(["a", "b", "c", "d"])], loading: items)
        source.distanceToMore = 3
        await source.refresh()
        #expect(!source.claimsMore(showing: row(1)))
        #expect(!source.claimsMore(showing: RowPath(section: 1, row: 0)))
        #expect(source.claimsMore(showing: RowPath(section: 1, row: 1)))
    }

    @Test func `Without loading there is nothing to load`() async {
        let source = TableSource([.rows(["x"])])
        await source.refresh()
        await source.loadMore()
        await source.retry()
        #expect(!source.claimsMore(showing: row(0)))
        #expect(source.more == .none)
    }
}
