import Diamond
import DiamondModel
import DiamondSQLite
import DiamondTable
import DiamondTestSupport

/// The source of a collection of items, with answers that a test chooses.
final class SimulatedLoading {
    private struct State {
        var failure: (any Error)?
        var pageSize = 0
        var pages = 1
        var loads = 0
    }

    private let state = Guarded(State())
    private let items: ModelCollection<Item>
    private var token: ObserverToken?

    init(_ items: ModelCollection<Item>) {
        self.items = items
        items.source = PageSource(paging: .offset(limit: 1_000)) { [state] query in
            await Task.yield()
            return try state.withLock { state in
                state.loads += 1
                if let failure = state.failure { throw failure }
                state.pages -= 1
                let start = if case .offset(let offset) = query.position { offset } else { 0 }
                let items = (start..<start + state.pageSize).map { JSONValue.object(["id": JSONValue($0 + 1)]) }
                return Page(items: items, isLast: state.pages <= 0)
            }
        }
    }

    /// Called when a load has started, after the existing observers.
    var during: () -> Void = {} {
        didSet { token = items.loadState.observe([.started]) { [during] _ in during() } }
    }

    /// The error of later loads.
    var failure: (any Error)? {
        get { state.withLock { $0.failure } }
        set { state.withLock { $0.failure = newValue } }
    }

    /// The number of items of a page.
    var pageSize: Int {
        get { state.withLock { $0.pageSize } }
        set { state.withLock { $0.pageSize = newValue } }
    }

    /// The number of remaining pages.
    var pages: Int {
        get { state.withLock { $0.pages } }
        set { state.withLock { $0.pages = newValue } }
    }

    var loads: Int { state.withLock { $0.loads } }
}
