import Diamond
import DiamondModel
import DiamondTable
import DiamondTestSupport
import DiamondTesting
import Testing

@Suite("The loading of a table") struct TableLoadingTests {
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

    @Test func `a table loads, then shows its content`() async {
        #expect(table.presentation == .nothing)
        loading.pageSize = 3
        var during: Presentation?
        loading.during = { [table] in during = table.presentation }
        await source.refresh()
        #expect(during == .loading)
        #expect(table.presentation == .content && table.more == NextPageState.none)
        #expect(table.problem == nil)
    }

    @Test func `a table whose load returns no rows is shown as empty`() async {
        await source.refresh()
        #expect(table.presentation == .empty)
        #expect(SimulatedTable(TableSource([.rows([])])).presentation == .empty)
        #expect(SimulatedTable(TableSource([.rows(["x"])])).presentation == .content)
    }

    @Test func `an error is shown while there are no rows, and a retry follows it`() async {
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

    @Test func `a server that cannot be reached is shown as offline`() async {
        var configuration = Engine.Configuration(store: nil)
        configuration.retry = .never
        let engine = Engine(configuration)
        do { _ = try await engine.send(Request("http://127.0.0.1:1/")) } catch { loading.failure = error }
        await source.refresh()
        #expect(table.presentation == .offline)
    }

    @Test func `each next page is loaded once, when a row near the end is shown`() async {
        loading.pageSize = 20
        loading.pages = 3
        await source.refresh()
        #expect(table.more == .ready)
        await source.loadMore(showing: row(14))
        #expect(loading.loads == 1)
        var during: NextPageState?
        loading.during = { [table] in during = table.more }
        await source.loadMore(showing: row(15))
        #expect(during == .loading)
        #expect(loading.loads == 2 && items.count == 40)
        await source.loadMore(showing: row(16))
        #expect(loading.loads == 2)
        await source.loadMore(showing: row(39))
        #expect(table.more == NextPageState.none)
        await source.loadMore(showing: row(59))
        #expect(loading.loads == 3)
        #expect(table.problem == nil)
    }

    @Test func `pages that fit on the screen are followed by the next ones`() async {
        loading.pageSize = 3
        loading.pages = 50
        await source.refresh()
        table.rowsOnScreen = 10
        await table.loadMore()
        // Five rows after the last visible row.
        #expect(items.count == 15)
        #expect(table.problem == nil)
    }

    @Test func `pages that a filter hides are followed by the next ones, and the table counts as loading`() async {
        items.filters["late"] = Filter { $0.id > 6 }
        loading.pageSize = 3
        loading.pages = 3
        await source.refresh()
        #expect(table.presentation == .loading && table.more == .ready)
        await table.loadMore()
        #expect(loading.loads == 3)
        #expect(table.presentation == .content && table.shown == table.expected && items.count == 3)
        items.filters["late"] = Filter { _ in false }
        #expect(table.presentation == .empty && table.more == NextPageState.none)
        #expect(table.problem == nil)
    }

    @Test func `a display that could not load the next page during a refresh is told again after the refresh`() async {
        final class Display: TableDisplay {
            var told: [Bool] = []
            weak var items: ModelCollection<Item>?
            var isOnScreen: Bool { true }
            func performBatch(_ batch: TableBatch, update: @escaping () -> Void) { update() }
            func reload() {}
            func reconfigure(_ paths: [RowPath]) {}
            func show(_ presentation: Presentation, more: NextPageState) {
                if more == .ready { told.append(items?.isLoading ?? false) }
            }
        }
        loading.pageSize = 3
        loading.pages = 9
        await source.refresh()
        let display = Display()
        display.items = items
        table.controller.display = display
        await source.refresh()
        #expect(display.told.last == false && display.told.count > 1)
    }

    @Test func `after an error only a retry loads more`() async {
        loading.pageSize = 2
        loading.pages = 3
        await source.refresh()
        loading.failure = Broken()
        await source.loadMore(showing: row(1))
        #expect(table.more == .failed("broken") && table.presentation == .content)
        await source.loadMore(showing: row(1))
        #expect(loading.loads == 2)
        loading.failure = nil
        await source.retry()
        #expect(table.more == .ready)
        await source.loadMore(showing: row(3))
        #expect(items.count == 6)
    }

    @Test func `the error of a refresh is shown below the rows`() async {
        loading.pageSize = 2
        await source.refresh()
        loading.failure = Broken()
        await source.refresh()
        #expect(table.presentation == .content && table.more == .failed("broken"))
        loading.failure = nil
        await source.retry()
        #expect(table.more == NextPageState.none)
    }

    @Test func `static rows do not hide the loading state of a collection in the same table`() async {
        let source = TableSource([.rows(["x"]), .collection(items)], loading: items)
        source.describeError = { _ in "broken" }
        let table = SimulatedTable(source)
        var during: Presentation?
        loading.during = { during = table.presentation }
        loading.failure = Broken()
        await source.refresh()
        #expect(during == .loading && table.presentation == .error("broken") && table.more == NextPageState.none)
        loading.failure = nil
        await source.retry()
        #expect(table.presentation == .empty)
        loading.pageSize = 1
        await source.refresh()
        #expect(table.presentation == .content)
        #expect(table.problem == nil)
    }

    @Test func `rows of later sections count in the distance to the end`() async {
        loading.pageSize = 2
        loading.pages = 2
        let source = TableSource([.collection(items), .rows(["a", "b", "c", "d"])], loading: items)
        source.prefetchDistance = 3
        await source.refresh()
        await source.loadMore(showing: row(1))
        await source.loadMore(showing: RowPath(section: 1, row: 0))
        #expect(loading.loads == 1)
        await source.loadMore(showing: RowPath(section: 1, row: 1))
        #expect(loading.loads == 2)
    }

    @Test func `a source without a loading collection loads nothing`() async {
        let source = TableSource([.rows(["x"])])
        await source.refresh()
        await source.loadMore(showing: row(0))
        await source.retry()
        #expect(source.more == .none)
    }
}
